"""The leak checks of a wave: all that it would send, held against all its bank keeps to people."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.utils import timezone

from runs.leaks import Guarded, Hit, LeakIndex, faults_of
from runs.models import Bank, Item, Run, Wave
from runs.prompts import Message, messages_for
from runs.refusals import WaveRefused

KEPT_AT_HAND = 8
MOST_KEPT = 100  # hits of a check that is refused


class LeaksFound(WaveRefused):
    """What would be sent holds what nobody who is asked may see: with the record of the check."""

    def __init__(self, check: dict[str, Any], *faults: str) -> None:
        super().__init__(*faults)
        self.check = check


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

    What is kept names each hit by its rule and by whose text it is. It holds none of the text.

    ``systems`` are the system messages, each with the name of a condition that sends it.

    Controls come first: a check that misses what was planted is a fault, whatever it says.
    """
    index = index_of(bank)
    controls = index.controls()
    faults = []
    found: dict[tuple[str, Hit], None] = {}
    if not controls.hold:
        faults.append(f"The leak check does not work ({controls}), so nothing is asked.")
    items = list(Item.objects.served().filter(bank=bank))
    sent = 0
    for system_message, condition in systems.items():
        ours = index.hits(system_message, ours=True)
        found |= dict.fromkeys(
            (f"The system message of condition {condition}", hit) for hit in ours
        )
        for item in items:
            messages = messages_for(system_message, item.turns, item.prompt)
            hits = index.in_messages(item.code, messages, system_message=system_message)
            own = [hit for hit in hits if hit not in ours]
            found |= dict.fromkeys((f"The message of item {item.code}", hit) for hit in own)
            sent += 1
    for where, hit in found:
        faults += faults_of([hit], where)
    return faults, {
        "planted": controls.planted,
        "fired": controls.fired,
        "missed": list(controls.missed),
        "messages": sent,
        "hits": len(found),
        "found": [{"where": where, **hit.as_row()} for where, hit in list(found)[:MOST_KEPT]],
        "at": timezone.now().isoformat(),
    }


def check_wave(wave: Wave, runs: list[Run]) -> None:
    """Check what these runs would send, and keep on the wave that it was done.

    Raises
    ------
    LeaksFound
        With what was found. Whoever catches it keeps it, once nothing takes it back.
    """
    faults, kept = preflight(wave.bank, {run.system_message: run.condition for run in runs})
    if faults:
        raise LeaksFound(kept, *faults)
    keep_check(wave, kept)


def found_in(check: Mapping[str, Any]) -> list[str]:
    """What a kept check refused, each as a line: where, by which rule, and whose text. No text."""
    lines = [f"The leak check missed {name}." for name in check.get("missed", ())]
    for row in check.get("found", ()):
        hit = Hit(row["rule"], row.get("item", ""), row.get("level"))
        lines.append(f"{row['where']}: {hit}.")
    return lines


def keep_check(wave: Wave, kept: dict[str, Any]) -> None:
    Wave.objects.filter(pk=wave.pk).update(leak_check=kept)
    wave.leak_check = kept


def leaks_at_call(run: Run, item: Item, messages: list[Message]) -> list[str]:
    """The same check once more, on the very messages that are about to be sent."""
    hits = index_of(run.wave.bank).in_messages(
        item.code, messages, system_message=run.system_message
    )
    return faults_of(hits, f"The message of item {item.code}")
