"""The way of a publication and of a subscription through two brokers does not grow."""

from click.testing import CliRunner

from harness.walk import main, walk_of_a_publication, walk_of_a_subscription

PUBLICATION_CALLS, PUBLICATION_MODULES = 88, 20
SUBSCRIPTION_CALLS, SUBSCRIPTION_MODULES = 303, 47


def test_a_publication_goes_a_short_way() -> None:
    walk = walk_of_a_publication()
    assert len(walk.calls) <= PUBLICATION_CALLS
    assert len(walk.modules) <= PUBLICATION_MODULES


def test_a_subscription_goes_a_short_way() -> None:
    walk = walk_of_a_subscription()
    assert len(walk.calls) <= SUBSCRIPTION_CALLS
    assert len(walk.modules) <= SUBSCRIPTION_MODULES


def test_the_command_prints_both_by_module() -> None:
    lines = CliRunner().invoke(main, []).output.splitlines()
    assert [line for line in lines if line.startswith("one publication: ")]
    assert [line for line in lines if line.endswith("broker/node/node.py")]
