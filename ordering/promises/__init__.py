"""The formal promises of a publish/subscribe service, judged on a trace of what its clients did and saw.

    promises = check(Trace(operations, matches))
    promises.broken                       # the names of the axioms that do not hold
    promises["complete"].outcome          # True, False, or None for undetermined
    promises["complete"].witnesses[0]     # one sentence: who, what, at which steps
    promises.definition("safety (2.1)")   # several axioms in one verdict
    latencies(trace)                      # how many steps acknowledgements and notifications took

Two specifications are covered. G. Mühl, *Large-Scale Content-Based Publish/Subscribe Systems*, 2002, defines
safety and liveness, without advertisements (2.1) and with them (2.4). A. Tanner and G. Mühl, 2004, add that a
subscription is acknowledged, and what a client may rely on from then on: axioms (2) to (6). `AXIOMS` says
which axiom is which formula; each is one function, in `safety` or in `liveness`.

`ordering.verdicts` judges order on what was delivered; here it matters when clients came and went.
"""

from ordering.promises.checking import AXIOMS, DEFINITIONS, Promises, check
from ordering.promises.latencies import Latencies, latencies
from ordering.promises.trace import (
    Matches,
    Operation,
    Trace,
    TraceError,
    acknowledge,
    advertise,
    notify,
    publish,
    rest,
    subscribe,
    torn,
    unadvertise,
    unsubscribe,
)
from ordering.promises.verdict import PromiseVerdict

__all__ = [
    "AXIOMS",
    "DEFINITIONS",
    "Latencies",
    "Matches",
    "Operation",
    "PromiseVerdict",
    "Promises",
    "Trace",
    "TraceError",
    "acknowledge",
    "advertise",
    "check",
    "latencies",
    "notify",
    "publish",
    "rest",
    "subscribe",
    "torn",
    "unadvertise",
    "unsubscribe",
]
