"""The errors inside exception groups, for messages of one line."""

from collections.abc import Iterator


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Every error inside an exception group, however deep: nurseries wrap what they raise."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
