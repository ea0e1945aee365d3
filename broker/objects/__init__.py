"""Objects as events: classes are registered, their objects published and delivered.

`classes` reads the fields of attrs classes, dataclasses and pydantic models, `shapes` writes and reads their
values, and `registry` has the types by name. `typed_filters` makes filters of classes, `schemas` JSON Schemas
of them.
"""

from broker.objects.classes import TYPES
from broker.objects.registry import REGISTRY, register
from broker.objects.schemas import SchemaCheck, schema_of
from broker.objects.typed_filters import filter_of, promise_of

__all__ = ["REGISTRY", "TYPES", "SchemaCheck", "filter_of", "promise_of", "register", "schema_of"]
