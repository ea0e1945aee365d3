"""The values that options take, and their defaults."""

import pytest
from click.testing import CliRunner

from broker.commands.broker import command
from broker.commands.options import ROUTING_DEFAULTS, routing_for


def test_the_papers_plugin_has_simple_routing_and_every_other_one_covering() -> None:
    assert routing_for("published") == "simple+simple"
    assert routing_for("pairwise") == routing_for("fifo") == "covering+simple"
    help_text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert f"Default: {ROUTING_DEFAULTS}." in help_text


def test_an_unknown_ordering_has_the_default_routing() -> None:
    assert routing_for("nonsense") == "covering+simple"


@pytest.mark.parametrize("name", ["", "what", "covering+what", "merging:0.5", "simple+"])
def test_what_names_no_routing_is_refused_and_quoted(name: str) -> None:
    result = CliRunner().invoke(command, ["--name", "B1", "--listen", "127.0.0.1:0", "--routing", name])
    assert result.exit_code == 2
    assert f"{name!r} names no routing" in " ".join(result.output.split())
