"""The walk from a root through nodes and lists of tests to what an event satisfies."""

from collections.abc import Iterable

from broker.filters.values import MISSING
from broker.matching.bucket import Bucket, Event, Key, Payload


def search(roots: Iterable[Bucket[Key]], attributes: Event) -> list[Payload[Key]]:
    """Return the payloads below these buckets whose tests the attributes satisfy."""
    found: list[Payload[Key]] = []
    pending: list[Bucket[Key]] = [*roots]
    get, missing = attributes.get, MISSING
    for bucket in pending:  # Lookups append to it.
        if isinstance(bucket, list):
            for tests, payload, _ in bucket:
                for test in tests:
                    if not test(attributes):
                        break
                else:
                    found.append(payload)
            continue
        if bucket.rest:
            pending.append([*bucket.rest.values()])
        by_name = bucket.probes
        # Whichever are fewer are gone through: the event's attributes, or those that filters name.
        for name in by_name if len(by_name) <= len(attributes) else attributes:
            value = get(name, missing)
            if value is not missing:
                for probe in by_name.get(name, ()):
                    probe(value, attributes, pending, found)
    return found
