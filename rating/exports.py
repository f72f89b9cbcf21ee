"""The files of a wave's report: each by itself, or all in one with what they mean and their hashes."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.template.loader import render_to_string

from compassion.snapshots import snapshot
from rating import blinding_report, probe_report
from rating.agreement_page import AgreementPage, Look, agreement_page, may_tell
from rating.breakdown import Line
from rating.counted import state_of
from rating.dictionary import dictionary_csv
from rating.export import ratings_csv, ratings_wide_csv
from rating.facets_file import facets_csv, facets_txt
from rating.figure import figure_as_json
from rating.item_figures import ONE_SUBJECT
from rating.judges.export import judgement_rows, judgements_csv
from rating.models import Saw, User
from rating.pdf import as_pdf
from rating.publications import Export
from rating.report import as_json
from rating.wave_document import wave_document
from rating.wave_report import (
    CARE,
    WaveReport,
    official_as_json,
    raters_of,
    rows_in_order,
    wave_report,
)
from runs.models import Wave

ALL: Final = "everything.zip"
MANIFEST: Final = "manifest.json"
PATIENCE: Final = timedelta(minutes=10)  # then a worker may be asked again
BEGINNING: Final = (1980, 1, 1, 0, 0, 0)  # of time, as zip files have it: equal files, equal bytes


@dataclass(frozen=True)
class File:
    """A file that is offered: its name, what it is, and what whoever opens it has seen.

    ``by_subject`` is whether it tells something of each subject once the wave is unblinded.
    """

    name: str
    about: str
    saw: Saw
    by_subject: bool = False

    @property
    def media_type(self) -> str:
        return TYPES[self.name.rpartition(".")[2]]


TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "pdf": "application/pdf",
    "zip": "application/zip",
}
FILES: Final = {
    file.name: file
    for file in (
        File("report.html", "This report as one page, to keep or to print.", Saw.FIGURES, True),
        File(
            "report.pdf", "Its figures of agreement and blinding, with page numbers.", Saw.FIGURES
        ),
        File("report.json", "The same numbers, for a program.", Saw.FIGURES, True),
        File("ratings.csv", "One line for each rating, with quotes and notes.", Saw.RATINGS, True),
        File(
            "ratings_wide.csv",
            "One line for each response, a column for each rater.",
            Saw.RATINGS,
        ),
        File("facets.csv", "Counted ratings alone, for R and the like.", Saw.RATINGS),
        File("facets.txt", "The same ratings for FACETS, with what it needs to know.", Saw.RATINGS),
        File(
            "judgements.csv",
            "One line for each judgement by a model; in no figure of the others.",
            Saw.RATINGS,
            True,
        ),
        File("dictionary.csv", "What each column and key of these files means.", Saw.FIGURES),
    )
}


class Sum:
    """The hash and the length of what passes."""

    def __init__(self) -> None:
        self._hash, self.size = hashlib.sha256(), 0

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()

    def of(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self._hash.update(part)
            self.size += len(part)
            yield part


class Exports:
    """The files of one wave."""

    def __init__(
        self,
        wave: Wave,
        report: WaveReport | None = None,
        page: AgreementPage | None = None,
    ) -> None:
        self.wave = wave
        self._report, self._page = report, page

    @property
    def report(self) -> WaveReport:
        """The report they tell: the one given, as of its moment, or else as of now."""
        return self._report or wave_report(self.wave)

    def file(self, name: str) -> bytes:
        """The bytes of one of ``FILES``."""
        return b"".join(self.parts(name))

    def parts(self, name: str) -> Iterator[bytes]:
        """The same in parts: those of single ratings a line each, so that they may be large."""
        made = self._makers[name]()
        if isinstance(made, bytes):
            yield made
            return
        for text in [made] if isinstance(made, str) else made:
            yield text.encode()

    def files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Every file with its name, in parts; last the manifest, which has the others' hashes.

        Each is to be read to its end before the next is asked for.
        """
        sums = {}
        for name in FILES:
            sums[name] = Sum()
            yield name, sums[name].of(self.parts(name))
        manifest = {
            "wave": self.wave.code,
            "bank_hash": self.wave.bank.content_hash,
            "preregistration_hash": self.wave.preregistration_hash,
            "seed": self.wave.seed,
            "files": {name: {"sha256": sum.hash, "bytes": sum.size} for name, sum in sums.items()},
        }
        yield MANIFEST, [_json(manifest).encode()]

    def zipped(self) -> bytes:
        """All of them in one."""
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, parts in self.files():
                info = zipfile.ZipInfo(f"{self.wave.code}/{name}", BEGINNING)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                # How long it will be is not known: it may be more than the old form can say.
                with archive.open(info, "w", force_zip64=True) as file:
                    file.writelines(parts)
        return whole.getvalue()

    @property
    def _makers(self) -> dict[str, Callable[[], str | bytes | Iterable[str]]]:
        wave = self.wave
        told = wave.unblinded_at is not None
        return {
            "report.html": self._html,
            "report.pdf": lambda: as_pdf(wave_document(wave, self.report)),
            "report.json": self._json,
            "ratings.csv": lambda: ratings_csv(rows_in_order(wave, quotes=True), unblinded=told),
            "ratings_wide.csv": lambda: ratings_wide_csv(rows_in_order(wave), raters_of(wave)),
            "facets.csv": lambda: facets_csv(rows_in_order(wave)),
            "facets.txt": lambda: facets_txt(rows_in_order(wave), wave.bank.levels, wave.code),
            "judgements.csv": lambda: judgements_csv(judgement_rows(wave), unblinded=told),
            "dictionary.csv": dictionary_csv,
        }

    def _html(self) -> str:
        made = self.report
        context = {
            "title": f"Agreement of raters: {self.wave.title}",
            "report": made.agreement,
            "chart": made.chart,
            "chart_narrow": made.chart_narrow,
            "facts": made.facts,
            "blinding": made.blinding,
            "probes": made.probes,
            "made_at": made.made_at,
            "care": CARE,
        }
        return render_to_string("rating/report_file.html", context)

    def _json(self) -> str:
        wave, made = self.wave, self.report
        content = {
            "wave": wave.code,
            "kind": wave.kind,
            **official_as_json(wave),
            "bank": str(wave.bank),
            "bank_hash": wave.bank.content_hash,
            "preregistration_hash": wave.preregistration_hash,
            "made_at": made.made_at.isoformat(timespec="seconds"),
            **agreement_figures(wave, made, self._page),
            "blinding": blinding_report.as_json(made.blinding),
            "probes": probe_report.as_json(made.probes),
        }
        return _json(content)


def agreement_figures(
    wave: Wave, report: WaveReport | None = None, page: AgreementPage | None = None
) -> dict[str, Any]:
    """How far raters agree, pooled and in each dimension: for a program, what the pages say."""
    page = page or agreement_page(wave, Look(), state_of(wave))
    figures = as_json((report or wave_report(wave)).agreement)
    parts = [(figures["overall"], page.overall)]
    parts += [(figures["dimensions"][line.name], line) for line in page.lines]
    for part, line in parts:
        _add_ac2(part, line)
        told = may_tell(wave, line)
        part |= {"level_counts_reason": None if told else ONE_SUBJECT}
        part |= {} if told else {"level_counts": None}
    return figures


def ask(wave: Wave, person: User, *, now: datetime) -> Export:
    """Ask for all files in one. A worker makes it: of many ratings that takes a while."""
    from rating.tasks import make_export

    asked = Export.objects.create(wave=wave, asked_by=person, asked_at=now)
    transaction.on_commit(partial(make_export.delay, export_id=asked.pk), robust=True)
    return asked


def make(export_id: int, *, now: datetime) -> None:
    """Make what was asked for, once. Earlier ones of the wave are let go of."""
    asked = Export.objects.filter(pk=export_id, made_at=None).select_related("wave__bank").first()
    if asked is None:
        return
    with snapshot():
        asked.content = Exports(asked.wave).zipped()
    asked.sha256 = hashlib.sha256(asked.content).hexdigest()
    asked.made_at = now
    with transaction.atomic():
        asked.save(update_fields=["content", "sha256", "made_at"])
        Export.objects.filter(wave=asked.wave, pk__lt=asked.pk).delete()


def newest(wave: Wave) -> tuple[Export | None, Export | None]:
    """The one that is waited for, and the last that is made, without its content."""
    asked = list(Export.objects.filter(wave=wave).defer("content").order_by("-pk")[:10])
    made = next((one for one in asked if one.made_at), None)
    waiting = next((one for one in asked if not one.made_at), None)
    return (waiting if waiting and (not made or waiting.pk > made.pk) else None), made


def _add_ac2(figures: dict[str, Any], line: Line) -> None:
    figures["ac2_ordinal"] = figure_as_json(line.ac2)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
