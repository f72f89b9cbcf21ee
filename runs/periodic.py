"""What every worker does now and then beside its tasks, in a thread of its own."""

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from django.db import DatabaseError, close_old_connections, connections
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


class Periodic(Thread):
    """Does something again and again until it is stopped, whatever becomes of database and broker."""

    def __init__(self, name: str, seconds: float, act: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self.seconds, self.act = seconds, act
        self.stopping = Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self.act()
            except (DatabaseError, OperationalError) as why:
                log.warning("the %s will look again: %s", self.name, why)
            close_old_connections()
            self.stopping.wait(self.seconds)
        connections.close_all()


class BesideWorkers:
    """Starts one of these when a worker is ready, and stops it when the worker shuts down."""

    def __init__(self, make: Callable[[], Periodic]) -> None:
        self.make = make
        self.running: list[Periodic] = []
        worker_ready.connect(self.start, weak=False)
        worker_shutdown.connect(self.stop, weak=False)

    def start(self, **_: Any) -> None:
        one = self.make()
        self.running.append(one)
        one.start()

    def stop(self, **_: Any) -> None:
        while self.running:
            one = self.running.pop()
            one.stopping.set()
            one.join(timeout=5)
