"""Publishing a report and correcting it: acts that are logged, and never taken back."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from django.core.cache import cache
from django.utils import timezone

from rating.gate import Gate
from rating.integrity.anchors import head
from rating.integrity.sealing import seal_all
from rating.models import Event, EventKind, User
from rating.publications import Correction, Publication
from rating.publishing.bundle import internal_bundle, public_bundle
from rating.publishing.confounded import ledger_of
from rating.publishing.content import Content, banned_words, content_of
from rating.publishing.data import WaveData
from rating.publishing.files import as_json
from rating.publishing.gated import gate_of
from rating.publishing.gather import data_of, rows_of
from rating.publishing.hashes import code_hash, data_hash
from rating.publishing.lexicon import banned_in
from rating.publishing.results import asked_of, results_of
from rating.queue import writing
from rating.wave_report import wave_report
from runs.models import Wave, WaveKind

KEPT: Final = 86_400  # seconds


class Refused(ValueError):
    """What cannot be done with a report now, with the sentence to show."""


def report_of(wave: Wave) -> Content:
    """The report of an unblinded wave, kept until one of its rows changes."""
    return _report(data_of(wave))


def gate_of_wave(wave: Wave) -> Gate:
    """Whether a wave may be called official, at any time of its life. No level of a subject."""
    data = rows_of(wave)
    alpha = wave_report(wave).agreement.overall.alpha_ordinal.value
    return gate_of(data, asked_of(data), alpha, ledger_of(data))


def missing_for(wave: Wave) -> list[str]:
    """What must come before a report can be made of a wave; nothing, once it can."""
    missing = []
    if wave.locked_at is None:
        missing.append("Its plan must be locked.")
    if wave.ratings_frozen_at is None:
        missing.append("Its ratings must be frozen.")
    if wave.unblinded_at is None:
        missing.append(
            "It must be unblinded."
            if wave.kind == WaveKind.LOCAL
            else "It must be unblinded, by two people who agree."
        )
    return missing


@dataclass(frozen=True)
class Prepared:
    """What is published of a wave: the report as text, and its public bundle."""

    text: str
    bundle: bytes


def prepare(wave: Wave) -> Prepared:
    """The report of a wave as it is now, ready to be published. Raises ``Refused``."""
    if wave.unblinded_at is None:
        raise Refused("A report is published after its wave was unblinded.")
    data = data_of(wave)
    content = _report(data)
    if found := banned_words(content, data):
        raise Refused(f"The report says what no report may say: {found[0]}.")
    seal_all()
    return Prepared(as_json(content), public_bundle(content, data, log=asdict(head())))


def publish(
    wave: Wave, by: User, reason: str, *, now: datetime, prepared: Prepared | None = None
) -> Publication:
    """Make the report of a wave public for good, as it is now or as it was ``prepared``.

    Raises ``Refused``.
    """
    ready = prepared or prepare(wave)
    if not reason.strip():
        raise Refused("Say why, in a few words.")
    with writing():
        standing = Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)
        if standing.published_at:
            raise Refused(
                f"This report was published already, at "
                f"{timezone.localtime(standing.published_at):%H:%M on %-d %B %Y}."
            )
        made = Publication.objects.create(
            wave=standing,
            text=ready.text,
            text_hash=hashlib.sha256(ready.text.encode()).hexdigest(),
            bundle=ready.bundle,
            reason=reason.strip(),
            published_by=by,
            published_at=now,
        )
        Wave.objects.filter(pk=standing.pk).update(published_at=now)
        Event.objects.create(
            kind=EventKind.PUBLISH,
            actor=by,
            happened_at=now,
            about={
                "wave": standing.code,
                "reason": reason.strip(),
                "report": made.text_hash,
                "bundle": hashlib.sha256(ready.bundle).hexdigest(),
            },
        )
    return made


def correct(wave: Wave, by: User, text: str, *, now: datetime) -> Correction:
    """Append a correction below a published report. Raises ``Refused``."""
    said = text.strip()
    if not said:
        raise Refused("Say what was wrong, and how it is.")
    if found := banned_in([said]):
        raise Refused(f"A report does not say {found[0]}. Put it in other words.")
    with writing():
        standing = Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)
        if standing.published_at is None:
            raise Refused("Only what is published is corrected.")
        made = Correction.objects.create(wave=standing, text=said, written_by=by, corrected_at=now)
        Event.objects.create(
            kind=EventKind.CORRECT,
            actor=by,
            happened_at=now,
            about={"wave": standing.code, "correction": made.pk, "text": said},
        )
    return made


def unlike_published() -> Iterator[str]:
    """The reports that are not what the log says was published, in words."""
    logged = {
        about["wave"]: about
        for about in Event.objects.filter(kind=EventKind.PUBLISH).values_list("about", flat=True)
    }
    for one in Publication.objects.select_related("wave").order_by("pk"):
        about = logged.get(one.wave.code, {})
        for what, body in (("report", one.text.encode()), ("bundle", bytes(one.bundle))):
            if hashlib.sha256(body).hexdigest() != about.get(what):
                yield f"the {what} of {one.wave} is not what was published"


def bundle_of(wave: Wave) -> bytes:
    """The internal bundle of an unblinded wave."""
    return internal_bundle(data_of(wave))


def _report(data: WaveData) -> Content:
    key = f"wave-report:{code_hash()}:{data_hash(data)}"
    kept: Content | None = cache.get(key)
    if kept is None:
        kept = content_of(results_of(data))
        cache.set(key, kept, KEPT)
    return kept
