"""The leak checks of a wave: all that it would send, held against all its bank keeps to people."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.utils import timezone

from runs.leaks import Guarded, LeakIndex, faults_of
from runs.models import Bank, Item, Run, Wave
from runs.prompts import Message, messages_for

KEPT_AT_HAND = 8


def index_of(bank: Bank) -> LeakIndex:
    """What one bank says to people alone. A frozen bank never changes, so it is read once."""
    return _index(bank.content_hash, bank.pk)


@lru_cache(maxsize=KEPT_AT_HAND)
def _index(content_hash: str, pk: int) -> LeakIndex:
    items = Item.objects.filter(bank=pk).prefetch_related("anchors")
    return LeakIndex(guarded(item) for item in items)


def guarded(item: Item) -> Guarded:
    return Guarded(
        code=item.code,
        prompt=item.prompt,
        turns=tuple(item.turns),
        dimension=item.dimension,
        construct=item.construct,
        anchors=tuple(
            (anchor.level, anchor.label, " ".join(filter(None, (anchor.description, anchor.note))))
            for anchor in item.anchors.all()
        ),
    )


def preflight(bank: Bank, systems: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
    """Hold every message of a wave against its bank: the faults, and what is kept of it.

    ``systems`` are the system messages, each with the name of a condition that sends it.

    Controls come first: a check that misses what was planted is a fault, whatever it says.
    """
    index = index_of(bank)
    controls = index.controls()
    faults = []
    if not controls.hold:
        faults.append(f"The leak check does not work ({controls}), so nothing is asked.")
    items = list(Item.objects.served().filter(bank=bank))
    sent = 0
    for system_message, condition in systems.items():
        ours = index.hits(system_message, ours=True)
        faults += faults_of(ours, f"The system message of condition {condition}")
        for item in items:
            messages = messages_for(system_message, item.turns, item.prompt)
            hits = index.in_messages(item.code, messages, system_message=system_message)
            own = [hit for hit in hits if hit not in ours]
            faults += faults_of(own, f"The message of item {item.code}")
            sent += 1
    return list(dict.fromkeys(faults)), {
        "planted": controls.planted,
        "fired": controls.fired,
        "messages": sent,
        "hits": len(faults),
        "at": timezone.now().isoformat(),
    }


def check_wave(wave: Wave, runs: list[Run]) -> list[str]:
    """Check what these runs would send, and keep on the wave that it was done. Returns the faults."""
    faults, kept = preflight(wave.bank, {run.system_message: run.condition for run in runs})
    Wave.objects.filter(pk=wave.pk).update(leak_check=kept)
    wave.leak_check = kept
    return faults


def leaks_at_call(run: Run, item: Item, messages: list[Message]) -> list[str]:
    """The same check once more, on the very messages that are about to be sent."""
    hits = index_of(run.wave.bank).in_messages(
        item.code, messages, system_message=run.system_message
    )
    return faults_of(hits, f"The message of item {item.code}")
