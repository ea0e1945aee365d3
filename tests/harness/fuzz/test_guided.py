"""What coverage guides: each target takes anything, and without Atheris there is an error of one line."""

import sys

import pytest
from click.testing import CliRunner

from broker.messages import Ping
from broker.wire import encode
from harness.fuzz import guided, targets


@pytest.mark.parametrize("target", list(targets.TARGETS))
@pytest.mark.parametrize("content", [b"", b"\x80", b"x > 0", b"\x80" + encode(Ping(1)), bytes(range(256))])
def test_a_target_raises_nothing(target: str, content: bytes) -> None:
    targets.TARGETS[target](content)


def test_without_atheris_there_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "atheris", None)
    result = CliRunner().invoke(guided.main, ["filters", "--corpus", "x"])
    assert result.exit_code == 1
    assert result.output == "Error: there is no Atheris here: pip install atheris\n"
