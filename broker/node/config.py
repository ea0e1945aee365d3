"""What a node has to know before its first step."""

from attrs import field, frozen

from broker.leases import Terms
from broker.node.access import Access
from broker.node.limits import NodeLimits
from broker.replay import Bounds


@frozen(kw_only=True)
class NodeConfig:
    """How one broker works. `manner` is everything that two neighbours must share, in words."""

    name: str
    manner: str = "pairwise"
    uplinks: tuple[str, ...] = ()
    token: str = ""
    link_timeout_s: float = 10.0
    terms: Terms | None = None
    access: Access = field(factory=Access)
    replays: Bounds = field(factory=Bounds)
    replay_age_s: float = 3600.0
    limits: NodeLimits = field(factory=NodeLimits)
    has_journal: bool = False
