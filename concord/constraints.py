"""The interface of constraint types, for those who write one.

A `ConstraintType` is found by its name in the entry-point group `concord.constraints`. Its docstrings say
what filters, brokers and the matching index ask it. `concord.testing.check_constraint_type` tries its laws.
"""

from broker.filters.constraint_types import (
    ArgumentError,
    Call,
    ConstraintType,
    Content,
    Kind,
    Subject,
)
from broker.filters.installed import ConstraintTypeError
from broker.filters.values import Scalar, Value

__all__ = [
    "ArgumentError",
    "Call",
    "ConstraintType",
    "ConstraintTypeError",
    "Content",
    "Kind",
    "Scalar",
    "Subject",
    "Value",
]
