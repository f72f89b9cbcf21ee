"""The Celery app. The database is the only truth: a lost message costs seconds, never a trial."""

import os
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")

app = Celery("compassion")


@setup_logging.connect
def use_the_settings_logging(**_: Any) -> None:
    """Workers log as the web does; without this Celery would set up its own."""
    from logging.config import dictConfig

    from django.conf import settings

    dictConfig(settings.LOGGING)


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
