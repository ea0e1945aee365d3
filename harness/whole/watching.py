"""What must hold after every step of a node, looked at where the step was."""

from collections.abc import Iterator

from broker.node import Effects, Input, Received
from broker.node.clients import ClientSession
from broker.node.links import LinkSession
from broker.wire import DEFAULT_LIMITS
from harness.whole.sites import Site

__all__ = ["wrong_after"]

FRAME_BYTES = DEFAULT_LIMITS.publication_frame_bytes


def wrong_after(site: Site, content: Input, effects: Effects) -> Iterator[str]:
    """What is wrong with the connection that an input came from."""
    yield from (
        f"{line.event}: {line.fields.get('exc_info')!r}" for line in effects.logs if line.level == "error"
    )
    node = site.node
    if node is None or type(content) is not Received:
        return
    connection = node.connections.get(content.connection)
    if connection is None or connection.is_ended:
        return
    session = connection.session
    if isinstance(session, ClientSession | LinkSession):
        window = session.window
        if window.available_bytes <= -FRAME_BYTES:
            yield f"credit of {connection.number} is {window.available_bytes}"
        if window.held_bytes < 0:
            yield f"{connection.number} holds {window.held_bytes} bytes"
