"""`concord broker`: one broker of an overlay.

Every option may also stand in a TOML file under the same name (`--config`); the command line wins. What an
option is called here is what the field of `Settings` is called that it becomes.
"""

import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import structlog
import trio

from broker.addresses import Address
from broker.commands.extras import require_extras
from broker.commands.options import (
    ADDRESS,
    ROUTING_DEFAULTS,
    SIZE,
    SPAN,
    complete_orderings,
    complete_routings,
    read_limits,
    read_pairs,
    read_routing,
    routing_for,
)
from broker.commands.signals import asking_to_end
from broker.commands.workers import WORKERS_MAX, end_with_supervisor, supervise, worker_settings
from broker.errors import ConcordError
from broker.exception_groups import leaves
from broker.routing import known, parse
from broker.server.heap import keep_freed
from broker.server.logs import FORMATS, LEVELS, configure
from broker.server.server import Server, serve
from broker.server.settings import (
    DEFAULT_LINK_TIMEOUT_S,
    DEFAULT_ORDERING,
    DEFAULT_REPLAY_AGE_S,
    DEFAULT_REPLAY_CACHE_BYTES,
    DEFAULT_REPLAY_COUNT,
    Settings,
    Tls,
)
from broker.toml_files import TomlError, load

_NOT_IN_FILES: Final = frozenset({"config", "help"})

_PATH: Final = click.Path(path_type=Path, dir_okay=False)

COLLECT_AFTER: Final = 100_000
"""New objects before a search for cycles: those of some thousand events, a few tens of megabytes at most."""

NUMBER_BOUND: Final = 2**63
"""No option takes a number as large as this, nor one that is infinite or none at all."""

_log = structlog.get_logger()


def _read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    """Make the file's keys the defaults of the options of the same names."""
    if path is None:
        return
    try:
        content = load(path)
    except TomlError as error:
        raise click.BadParameter(f"{path}: {error}", ctx, param) from error
    options = {_key(each): each for each in ctx.command.params}
    defaults: dict[str, object] = {}
    for key, value in content.items():
        option = options.get(key)
        if option is None or option.name is None or key in _NOT_IN_FILES:
            known = ", ".join(sorted(options.keys() - _NOT_IN_FILES))
            raise click.BadParameter(f"{path}: unknown key {key!r}; there are {known}", ctx, param)
        defaults[option.name] = _checked(ctx, param, option, f"{path}: {key}", value)
    ctx.default_map = defaults


def _key(option: click.Parameter) -> str:
    return option.opts[0].removeprefix("--")


def _checked(
    ctx: click.Context, param: click.Parameter, option: click.Parameter, where: str, value: object
) -> object:
    """One value of the file, of a type that its option can read."""
    values = value if option.multiple and isinstance(value, list) else [value]
    is_flag = isinstance(option, click.Option) and option.is_flag
    for each in values:
        if is_flag != isinstance(each, bool) or not isinstance(each, str | int | float):
            expected = "true or false" if is_flag else "text or a number"
            raise click.BadParameter(f"{where}: expected {expected}", ctx, param)
        if objection := _objection(option, each):
            raise click.BadParameter(f"{where}: {objection}", ctx, param)
    return values if option.multiple else value


def _objection(option: click.Parameter, value: str | float) -> str:
    """Return why a value of a file cannot be meant; nothing if it can."""
    if isinstance(value, str):
        return "a zero byte cannot be in an option" if "\0" in value else ""
    if isinstance(option.type, click.Path):
        return "expected a path, as text"
    return (
        "" if abs(value) < NUMBER_BOUND else f"expected a number between -{NUMBER_BOUND} and {NUMBER_BOUND}"
    )


def _read_token(path: Path | None, token: str | None) -> str:
    """The token to show to uplinks: from a file, or from the environment."""
    if path is None:
        return token or ""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise click.UsageError(f"--token-file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--token-file {path}: not UTF-8 at byte {error.start}") from error


@click.command(
    name="broker", epilog="Example: concord broker --name B2 --listen 127.0.0.1:7412 --uplink 127.0.0.1:7411"
)
@click.option("--name", required=True, help="Name of this broker, unique in the overlay.")
@click.option("--listen", required=True, type=ADDRESS, help="Where to listen; port 0 takes a free one.")
@click.option(
    "--listen-shared",
    type=ADDRESS,
    help="Where to listen too, beside other brokers of this machine that do: the system deals out "
    "connections. A client comes back to the broker that it got, at that broker's own address.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, WORKERS_MAX),
    default=1,
    show_default=True,
    metavar="N",
    help="Run so many brokers, for as many cores: a tree that clients reach at --listen. Each also has a "
    "port of its own, the next ones behind that.",
)
@click.option("--worker", type=click.IntRange(min=0), default=0, hidden=True)
@click.option(
    "--listen-ws",
    type=ADDRESS,
    help="Where to listen for WebSocket, which pages in browsers speak; port 0 takes a free one.",
)
@click.option(
    "--ws-origin",
    "ws_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin of pages that may connect there, such as https://shop.example; may be repeated; * is all. "
    "Without it, pages of the host that they connect to may.",
)
@click.option(
    "--advertise-address",
    type=ADDRESS,
    help="Where other brokers can dial this one, if that is not what it listens on.",
)
@click.option(
    "--uplink",
    "uplinks",
    type=ADDRESS,
    multiple=True,
    help="Broker to attach to; several in order of preference.",
)
@click.option(
    "--ordering",
    default=DEFAULT_ORDERING,
    show_default=True,
    shell_complete=complete_orderings,
    help="Ordering plugin; the same on all brokers.",
)
@click.option(
    "--ordering-option",
    "ordering_options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=read_pairs,
    help="Option of the ordering plugin; may be repeated.",
)
@click.option(
    "--routing",
    metavar="NAME[+NAME]",
    callback=read_routing,
    shell_complete=complete_routings,
    help="How subscriptions, and advertisements if another is named, are passed on: "
    f"{', '.join(known())}; the same on all brokers. Default: {ROUTING_DEFAULTS}.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory that keeps what the broker has taken, over crashes and restarts.",
)
@click.option(
    "--link-timeout",
    "link_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_LINK_TIMEOUT_S,
    show_default=True,
    metavar="S",
    help="Seconds of silence after which a connection is dead.",
)
@click.option(
    "--lease",
    "lease_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Let routing tables heal that went wrong in memory: forget what neighbours have left out of their "
    "renewals for so many seconds. The same on all brokers.",
)
@click.option(
    "--lease-refresh",
    "lease_refresh_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="How often routes are renewed; every quarter of the lease unless something else is asked for.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    callback=read_limits,
    help="A bound of what peers may have, such as requests=1000 or kept-bytes=64MiB; may be repeated. "
    "docs/reference/threat-model.md has all of them.",
)
@click.option(
    "--replay-cache",
    "replay_cache_bytes",
    type=SIZE,
    default=DEFAULT_REPLAY_CACHE_BYTES,
    show_default="16MiB",
    metavar="SIZE",
    help="How much of what its publishers published last the broker keeps for replays; 0 keeps nothing.",
)
@click.option(
    "--replay-count",
    type=click.IntRange(min=0),
    default=DEFAULT_REPLAY_COUNT,
    show_default=True,
    help="How many publications of these at most.",
)
@click.option(
    "--replay-age",
    "replay_age_s",
    type=SPAN,
    default=DEFAULT_REPLAY_AGE_S,
    show_default="1h",
    metavar="TIME",
    help="How old these may be.",
)
@click.option("--metrics", type=ADDRESS, help="Where to answer Prometheus.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write what the broker counts to DIR/brokers every second, as Parquet.",
)
@click.option("--tls-cert", type=_PATH, help="Certificate of this broker (PEM); speaks TLS to everybody.")
@click.option("--tls-key", type=_PATH, help="Its private key (PEM).")
@click.option(
    "--tls-ca", type=_PATH, help="Authority that signed the certificates of peers (PEM); they are checked."
)
@click.option(
    "--tls-broker",
    multiple=True,
    metavar="NAME",
    help="Name in the certificate of one that may be a broker, without --auth; all others are clients.",
)
@click.option("--auth", type=_PATH, help="Users and what each may do (TOML).")
@click.option("--token-file", type=_PATH, help="Token to show to uplinks; or put it in CONCORD_TOKEN.")
@click.option("--insecure", "is_insecure", is_flag=True, help="Listen beyond this machine without TLS.")
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True)
@click.option("--log-format", type=click.Choice(FORMATS), default="console", show_default=True)
@click.option(
    "--config",
    type=_PATH,
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="Options from a TOML file, under the same names; the command line wins.",
)
def command(  # noqa: PLR0913 - the options that are no field of `Settings`
    *,
    ordering: str,
    routing: str | None,
    trace: Path | None,
    token_file: Path | None,
    workers: int,
    worker: int,
    log_level: str,
    log_format: str,
    **others: Any,
) -> None:
    """Run one broker until SIGTERM, SIGINT or SIGHUP.

    Prints `listening on HOST:PORT` when it is ready, and the address for WebSocket on a second line; logs
    go to standard error. Under nohup it ignores SIGHUP.
    """
    if trace is not None:
        require_extras("harness", option="--trace")
    settings = Settings(
        ordering=ordering,
        routing=parse(routing or routing_for(ordering)),
        trace=trace,
        tls=Tls(*(others.pop(f"tls_{part}") for part in ("cert", "key", "ca", "broker"))),
        token=_read_token(token_file, os.environ.get("CONCORD_TOKEN")),
        **others,
    )
    if worker:
        settings = worker_settings(settings, worker)
    configure(log_level, log_format, settings.name)
    if workers > 1 and not worker:
        supervise(settings, workers)
        return
    _calm_collector()
    keep_freed()
    _run(settings, is_worker=worker > 0)


def _run(settings: Settings, *, is_worker: bool) -> None:
    """Run until a signal asks for the end. A defect is logged and ends the process with status 1."""
    try:
        trio.run(partial(_serve, is_worker=is_worker), settings)
    except BaseException as error:
        if all(isinstance(each, ConcordError | OSError | KeyboardInterrupt) for each in leaves(error)):
            raise
        _log.critical("stopped by a defect of the broker", exc_info=error)
        sys.exit(1)


def _calm_collector() -> None:
    """Let Python look for cycles of garbage rarely.

    Events make none: they are freed when the last queue lets go of them. Looking after every 700 new objects,
    as it does by itself, costs an eighth of a busy broker's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])


async def _serve(settings: Settings, *, is_worker: bool) -> None:
    with asking_to_end() as asked:
        if is_worker:
            trio.lowlevel.spawn_system_task(end_with_supervisor)
        await serve(settings, _announce(settings), asked)


def _announce(settings: Settings) -> Callable[[Server], None]:
    def announce(server: Server) -> None:
        click.echo(f"listening on {Address(settings.listen.host, server.port)}")
        if settings.listen_ws is not None:
            scheme = "wss" if settings.tls.serves else "ws"
            click.echo(f"listening on {scheme}://{Address(settings.listen_ws.host, server.ws_port)}")

    return announce
