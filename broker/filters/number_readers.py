"""Tests of one numeric attribute, one closure for each shape of range: the hot path of matching.

Each closure reads the attribute, checks its type and compares, without another call in the usual case; so
there is one for each pair of comparison signs. Exact types come first because that is what events hold.
"""

from broker.filters.values import Attributes, Matcher, Number, is_number


def equal_to(name: str, number: Number) -> Matcher:
    """Test for one number; the identity checks keep out True and False, which Python takes for 1 and 0."""

    def equal(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return value == number and value is not True and value is not False

    return equal


def one_sided(
    name: str,
    low: Number | None,
    high: Number | None,
    closed: bool,  # noqa: FBT001 - a field
) -> Matcher:
    """Test against the one bound that is there."""
    if low is not None:
        return _at_least(name, low) if closed else _above(name, low)
    assert high is not None
    return _at_most(name, high) if closed else _below(name, high)


def between(
    name: str,
    low: Number,
    high: Number,
    low_closed: bool,  # noqa: FBT001 - a field
    high_closed: bool,  # noqa: FBT001 - a field
) -> Matcher:
    """Test against two bounds."""
    if low_closed:
        return _from_to(name, low, high) if high_closed else _from_below(name, low, high)
    return _above_to(name, low, high) if high_closed else _above_below(name, low, high)


def _above(name: str, low: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return value > low
        return is_number(value) and value > low

    return test


def _at_least(name: str, low: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return value >= low
        return is_number(value) and value >= low

    return test


def _below(name: str, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return value < high
        return is_number(value) and value < high

    return test


def _at_most(name: str, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return value <= high
        return is_number(value) and value <= high

    return test


def _from_to(name: str, low: Number, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return low <= value <= high
        return is_number(value) and low <= value <= high

    return test


def _from_below(name: str, low: Number, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return low <= value < high
        return is_number(value) and low <= value < high

    return test


def _above_to(name: str, low: Number, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return low < value <= high
        return is_number(value) and low < value <= high

    return test


def _above_below(name: str, low: Number, high: Number) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if type(value) is float or type(value) is int:
            return low < value < high
        return is_number(value) and low < value < high

    return test
