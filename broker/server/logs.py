"""Structured logs on standard error: one line per event, for people or as JSON."""

import logging
import sys
from typing import Final

import structlog

__all__ = ["FORMATS", "LEVELS", "configure"]

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("console", "json")


def configure(level: str, form: str) -> None:
    """Decide once, at the start of the process, what is logged and how."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.dict_tracebacks] if form == "json" else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
