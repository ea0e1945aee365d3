"""What a program asks for by a class: its filter, its schema, its deliveries.

`broker.objects` is loaded when a program has a class, and not before.
"""

from collections.abc import Mapping

from broker.client.deliveries import Deliveries
from broker.client.driver import Driver
from broker.client.inbox import Inbox
from broker.client.outbox import DocumentCheck
from broker.client.reading import Reading
from broker.errors import EventTypeError
from broker.filters import Filter, parse


def asked_of(asked: str | Filter | type, where: str, *, is_promise: bool = False) -> tuple[str, Filter]:
    """Return the filter that is asked for, or that of a class, as a text and read.

    A class that is advertised (`is_promise`) and has none below it rules out all others.

    Raises:
        FilterError: it cannot be read, or names a field that the class does not have.
        EventTypeError: the class is not registered.
        ValueError: `where` is given, and no class.
    """
    if isinstance(asked, type):
        from broker.objects import filter_of, promise_of  # noqa: PLC0415 - only who has classes loads it

        parsed = promise_of(asked, where) if is_promise else filter_of(asked, where)
        return str(parsed), parsed
    if where:
        raise ValueError("where is for a class: of other events the whole filter is one text")
    return str(asked), parse(str(asked))


def check_of(schema: Mapping[str, object] | bool, asked: str | Filter | type) -> DocumentCheck | None:  # noqa: FBT001 - as the user gave it
    """Return the check of a JSON Schema, or of that of a class (True).

    Raises:
        EventTypeError: it is no schema, there is no class, or the library for it is not installed.
    """
    if schema is False:
        return None
    from broker.objects import SchemaCheck, schema_of  # noqa: PLC0415 - as above

    if schema is not True:
        return SchemaCheck.of(schema)
    if not isinstance(asked, type):
        raise EventTypeError("schema=True is for a class, which has one: give the schema as a map")
    return SchemaCheck.of(schema_of(asked))


def deliveries_of(asked: str | Filter | type, inbox: Inbox, driver: Driver) -> Deliveries:
    """Return the deliveries of a subscription; those of a class come as objects."""
    if not isinstance(asked, type):
        return Deliveries(Reading(inbox, driver.machine), driver)
    from broker.client.objects import ObjectDeliveries, delivery_class  # noqa: PLC0415 - as above

    return ObjectDeliveries(Reading(inbox, driver.machine, delivery_class(asked)), driver)
