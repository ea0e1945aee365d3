"""Scenarios: the descriptions of runs, read from TOML files and checked.

`files` finds and reads them, `keys` checks single values, `scenario` says which keys there are. `overlays`
and `interests` turn what is asked for into brokers and filters. Those in `shipped` come with the product.
"""

from harness.scenarios.files import Point, Study, find, from_content, shipped_scenarios
from harness.scenarios.interests import Interests, interests
from harness.scenarios.keys import ScenarioError
from harness.scenarios.overlays import edges, fallbacks, uplinks
from harness.scenarios.scenario import Scenario

__all__ = [
    "Interests",
    "Point",
    "Scenario",
    "ScenarioError",
    "Study",
    "edges",
    "fallbacks",
    "find",
    "from_content",
    "interests",
    "shipped_scenarios",
    "uplinks",
]
