"""JSON as commands print it. It has no NaN and no infinities: those numbers are printed as null."""

import json
from collections.abc import Mapping
from math import isfinite

__all__ = ["to_json"]


def to_json(value: object) -> str:
    """Return one line of JSON that every reader of JSON takes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_without_odd_numbers(value), ensure_ascii=False, allow_nan=False)


def _without_odd_numbers(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _without_odd_numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(each) for each in value]
    return value
