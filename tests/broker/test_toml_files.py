from pathlib import Path

import pytest

from broker.toml_files import DOTS_MAX, TomlError, load


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('a.b = 1\n[c]\nd = "..."\n')
    assert load(path) == {"a": {"b": 1}, "c": {"d": "..."}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a = ", "Invalid value"),
        (b"a = '\xff'", "utf-8"),
        (b"a = " + b"9" * 5000, "digits"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"x = 1\n" + b"a." * DOTS_MAX + b"b.c = 1", f"line 2: more than {DOTS_MAX} dots"),
        (b"x = {" + b"a." * DOTS_MAX + b"b.c = 1}", "dots"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(TomlError, match=reason):
        load(path)


def test_a_file_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match="No such file"):
        load(tmp_path / "x.toml")
