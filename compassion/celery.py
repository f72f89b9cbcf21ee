"""The Celery app. The database is the only truth: a lost message costs seconds, never a trial."""

import logging
import os
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from celery import Celery, Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun

from compassion.logs import NONE, request_id
from compassion.logs import task_id as _task_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")

app = Celery("compassion")
log = logging.getLogger(__name__)
# What a message carries beside its task, and where a running task keeps when it began.
HEADER = "request_id"
BEGAN = "began_at_monotonic"


@setup_logging.connect
def use_the_settings_logging(**_: Any) -> None:
    """Workers log as the web does; without this Celery would set up its own."""
    from logging.config import dictConfig

    from django.conf import settings

    dictConfig(settings.LOGGING)
    logging.captureWarnings(True)


@before_task_publish.connect
def name_the_request(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """A message carries the id of the request it comes from, and so do those its task sends."""
    if headers is not None and request_id.get() != NONE:
        headers[HEADER] = request_id.get()


@task_prerun.connect
def take_up_the_request(task_id: str, task: Task, **_: Any) -> None:  # type: ignore[type-arg]
    """All that a task logs bears the id of the request behind it, and the task's own."""
    request_id.set(getattr(task.request, HEADER, None) or NONE)
    _task_id.set(task_id)
    setattr(task.request, BEGAN, monotonic())
    log.info("task begins", extra={"task": task.name})


@task_postrun.connect
def lay_down_the_request(task: Task, state: str | None = None, **_: Any) -> None:  # type: ignore[type-arg]
    began = getattr(task.request, BEGAN, None)
    ms = round((monotonic() - began) * 1000, 1) if began else None
    log.info("task ended", extra={"task": task.name, "outcome": state, "ms": ms})
    request_id.set(NONE)
    _task_id.set(NONE)


def configure() -> dict[str, Any]:
    from django.conf import settings

    conf: dict[str, Any] = {
        "broker_url": settings.CELERY_BROKER_URL,
        "broker_connection_retry_on_startup": True,
        "task_ignore_result": True,
        "task_acks_late": True,
        "worker_prefetch_multiplier": 1,
        "task_default_queue": "compassion",
        "timezone": "UTC",
    }
    if urlsplit(settings.CELERY_BROKER_URL).scheme == "filesystem":
        folders = {name: settings.BROKER_DIR / name for name in ("messages", "control")}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        # Without the name of a host, kombu warns that it takes this one.
        conf["broker_url"] = "filesystem://localhost"
        conf["broker_transport_options"] = {
            "data_folder_in": str(folders["messages"]),
            "data_folder_out": str(folders["messages"]),
            "control_folder": str(folders["control"]),
            "polling_interval": 0.05,
        }
    return conf


app.add_defaults(configure)
app.autodiscover_tasks()
