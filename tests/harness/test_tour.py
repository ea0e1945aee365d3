import pytest
from click.testing import CliRunner

from harness.tour import TRADES, _audience, _verdict, command


def test_every_subscriber_wants_something_and_nobody_wants_everything() -> None:
    assert all(0 < len(subscriber.expected()) < len(TRADES) for subscriber in _audience())


@pytest.mark.parametrize("spoil", ["lose", "repeat", "swap"])
def test_the_verdict_notices_what_went_wrong(spoil: str, capsys: pytest.CaptureFixture[str]) -> None:
    subscriber = _audience()[0]
    received = subscriber.received
    received += subscriber.expected()
    assert _verdict(subscriber)
    if spoil == "lose":
        received.pop()
    elif spoil == "repeat":
        received.append(received[-1])
    else:
        received.reverse()
    assert not _verdict(subscriber)
    assert "NOT what the filter matches" in capsys.readouterr().out


def test_the_tour_ends_well() -> None:
    outcome = CliRunner().invoke(command)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.count("exactly what the filter matches") == len(_audience())
