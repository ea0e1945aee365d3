"""JSON Schema: of a class, and as a check of what is published.

Law: a check looks at nothing but the schema that it was given: it fetches none from elsewhere.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import define

from broker.errors import EventTypeError
from broker.filters.values import Value
from broker.objects.classes import TYPES, EventClass
from broker.objects.registry import REGISTRY
from broker.objects.shapes import JsonSchema

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

NO_LIBRARY: Final = (
    "a schema is checked by the package jsonschema, which is not installed: "
    "pip install 'concord-pubsub[schema]'"
)


def schema_of(kind: type) -> JsonSchema:
    """Return the JSON Schema of the events that objects of a registered class are.

    Raises:
        EventTypeError: the class is not registered, or two classes in it have one name.
    """
    REGISTRY.type_of(kind)
    owner = REGISTRY.class_of(kind)
    whole, pending = _body(owner), [owner]
    definitions: dict[str, JsonSchema] = {}
    described: dict[str, EventClass] = {}
    while pending:
        for each in _classes_in(pending.pop()):
            known = described.get(each.name)
            if known is not None and known is not each:
                raise EventTypeError(f"{owner.name}: two classes in it are called {each.name}; rename one")
            if known is None:
                described[each.name], definitions[each.name] = each, _body(each)
                pending.append(each)
    return {"$schema": DIALECT, **whole, **({"$defs": definitions} if definitions else {})}


def _classes_in(owner: EventClass) -> list[EventClass]:
    return [each for field in owner.fields.values() for each in field.shape.classes()]


def _body(owner: EventClass) -> JsonSchema:
    """Return the schema of one class; those of others are references."""
    properties = {each.name: each.shape.schema() for each in owner.fields.values()}
    names = {TYPES: {"type": "array", "items": {"type": "string"}}} if REGISTRY.names_of(owner.kind) else {}
    required = [each.name for each in owner.fields.values() if each.is_required]
    return {
        "title": owner.name,
        "type": "object",
        "properties": {**names, **properties},
        "required": required,
    }


@define(eq=False)
class SchemaCheck:
    """A JSON Schema that events have to fit."""

    _validator: Any

    @classmethod
    def of(cls, schema: Mapping[str, object]) -> "SchemaCheck":
        """Return the check of a schema.

        Raises:
            EventTypeError: it is no JSON Schema, or the library for it is not installed.
        """
        try:
            from jsonschema import SchemaError, validators  # noqa: PLC0415 - only who gives a schema needs it
            from referencing import jsonschema as dialects  # noqa: PLC0415 - as above
        except ImportError:
            raise EventTypeError(NO_LIBRARY) from None
        validator = validators.validator_for(schema, default=validators.validator_for({"$schema": DIALECT}))
        try:
            validator.check_schema(schema)
        except SchemaError as error:
            raise EventTypeError(f"this is no JSON Schema, at {error.json_path}: {error.message}") from None
        return cls(validator(schema, registry=dialects.EMPTY_REGISTRY))

    def failing(self, attributes: Mapping[str, Value]) -> str:
        """Return what does not fit, with its path in the document; "" if everything fits."""
        from jsonschema.exceptions import best_match  # noqa: PLC0415 - as above

        error = best_match(self._validator.iter_errors(attributes))
        return "" if error is None else f"{error.json_path}: {' '.join(error.message.split())}"

    def fits(self, attributes: Mapping[str, Value]) -> bool:
        """Return whether the event fits."""
        fits: bool = self._validator.is_valid(attributes)
        return fits
