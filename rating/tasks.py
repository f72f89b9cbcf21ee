"""What a worker does now and then beside asking: it seals the log, and writes to who waits for work."""

import logging
from threading import Event, Thread
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from django.db import DatabaseError, close_old_connections, connections
from django.utils import timezone

from rating.events import seal_events
from rating.notices import write_to_those_waiting

log = logging.getLogger(__name__)

LOOK_SECONDS = 300.0


class Caretaker(Thread):
    """Looks every five minutes what is to be sealed, and who asked to be written to."""

    def __init__(self) -> None:
        super().__init__(name="caretaker", daemon=True)
        self.stopping = Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                seal_events()
                write_to_those_waiting(timezone.now())
            except DatabaseError as why:
                log.warning("the caretaker will look again: %s", why)
            close_old_connections()
            self.stopping.wait(LOOK_SECONDS)
        connections.close_all()


_caretakers: list[Caretaker] = []


@worker_ready.connect
def start_caretaker(**_: Any) -> None:
    caretaker = Caretaker()
    _caretakers.append(caretaker)
    caretaker.start()


@worker_shutdown.connect
def stop_caretaker(**_: Any) -> None:
    while _caretakers:
        caretaker = _caretakers.pop()
        caretaker.stopping.set()
        caretaker.join(timeout=5)
