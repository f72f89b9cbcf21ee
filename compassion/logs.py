"""What a line of the log says: which request and which task it belongs to, and nothing of people.

Loaded before any app is.
"""

import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from runs.canonical import on_one_line

NONE = "-"
request_id: ContextVar[str] = ContextVar("request_id", default=NONE)
task_id: ContextVar[str] = ContextVar("task_id", default=NONE)

# What a line may say beside its message. Anything else that came with a record stays out of it.
TOLD = ("method", "route", "status", "ms", "task", "outcome", "attempts")
ALWAYS = ("at", "level", "logger", "message", "request_id", "task_id")
TROUBLE = ("exc_info", "stack_info")
ADDRESS = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
# PostgreSQL quotes the row that it refuses, with all that somebody wrote in it.
QUOTED_ROW = re.compile(r"^(DETAIL|CONTEXT|LINE \d+): .*$", re.MULTILINE)


def clean(text: str) -> str:
    """A text without mail addresses, and without rows that a database quotes."""
    return QUOTED_ROW.sub(r"\1: (not logged)", ADDRESS.sub("(address)", text))


class RequestIdFilter(logging.Filter):
    """Gives each record the request and the task in hand, and the route in place of an address.

    What stands in a path may be a key: an invitation is one.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        record.task_id = task_id.get()
        request = getattr(record, "request", None)
        path = getattr(request, "path", "")
        if path and (route := route_of(request)) != NONE and isinstance(record.args, tuple):
            record.args = tuple(f"/{route}" if one == path else one for one in record.args)
        return True


class Lines(JsonFormatter):
    """One JSON object a line, of those fields alone that are named above."""

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        kept = (*ALWAYS, *TOLD, *TROUBLE)
        return {
            name: clean(value) if isinstance(value, str) else value
            for name, value in log_data.items()
            if name in kept
        }


class Plain(logging.Formatter):
    """The same for a person at a terminal. A message is one line, whoever wrote what it says."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return on_one_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        told = [f"{name}={said}" for name in TOLD if (said := getattr(record, name, None))]
        return clean(" ".join([super().format(record), *told]))


def route_of(request: Any) -> str:
    """The pattern that an address fits, which names nobody: ``rate/<uuid:code>/``."""
    match = getattr(request, "resolver_match", None)
    return NONE if match is None else str(match.route)


def served(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same for gunicorn, whose own lines would be of another kind."""
    own = {"level": settings["root"]["level"], "handlers": [], "propagate": True}
    return {**settings, "loggers": {**settings["loggers"], "gunicorn.error": own}}
