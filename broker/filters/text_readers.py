"""Tests of one text attribute, one closure for each common shape of pattern: the hot path of matching."""

from broker.filters.values import Attributes, Matcher


def starts_with(name: str, prefix: str) -> Matcher:
    """Test for a prefix."""

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, str) and value.startswith(prefix)

    return test


def ends_with(name: str, suffix: str) -> Matcher:
    """Test for a suffix."""

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, str) and value.endswith(suffix)

    return test


def contains_part(name: str, part: str) -> Matcher:
    """Test for a substring."""

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, str) and part in value

    return test
