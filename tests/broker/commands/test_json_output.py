import json
from math import inf, nan

import pytest

from broker.commands.json_output import to_json
from tests.sources import product_files


def test_numbers_that_json_does_not_have_are_null() -> None:
    value = {"a": nan, "b": [inf, -inf, 1.5], "c": {"d": (nan, "NaN", True)}}
    assert to_json(value) == '{"a": null, "b": [null, null, 1.5], "c": {"d": [null, "NaN", true]}}'


@pytest.mark.parametrize("value", [None, {"price": 1e308, "name": "händler"}, [1, 2.5, "x"]])
def test_everything_else_is_printed_as_python_prints_it(value: object) -> None:
    assert to_json(value) == json.dumps(value, ensure_ascii=False)


def test_every_command_prints_json_in_this_one_way() -> None:
    commands = [source for source in product_files() if source.path.parts[1] == "commands"]
    assert len(commands) > 20
    own = {"broker/commands/json_output.py"}
    assert {str(each.path) for each in commands if "json.dumps" in each.text} == own
