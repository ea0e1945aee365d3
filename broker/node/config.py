"""The configuration of a node."""

from attrs import field, frozen

from broker.leases import Terms
from broker.node.access import Access
from broker.node.limits import NodeLimits
from broker.replay import Bounds


@frozen(kw_only=True)
class NodeConfig:
    """The configuration of one broker. `manner` is a text of all settings that neighbours must share."""

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
    shares_address: bool = False
    """Whether clients may come by an address that other brokers listen on too."""
