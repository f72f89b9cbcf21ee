"""The two bundles of a wave, as zip files that are the same byte for byte whenever they are made.

The *internal* one holds every row that figures are computed from, so that all of them can be
computed again without a database. The *public* one holds the report and the ratings under random
codes: of a rating it tells the dimension or chamber, and not whose response it is of.
"""

import csv
import hashlib
import io
import json
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from rating.export import unguarded
from rating.publishing import schema
from rating.publishing.content import Content, content_of, figure_of
from rating.publishing.data import (
    AskingRow,
    BankRow,
    DeclaredRow,
    DeviationRow,
    EarlierRun,
    GivenRow,
    GuessRow,
    ItemRow,
    JudgeRow,
    PairRow,
    PeopleRow,
    ProbedRow,
    ReplyRow,
    RunRow,
    SettledRow,
    WaveData,
    WaveRow,
)
from rating.publishing.files import as_csv, as_json, figures_csv
from rating.publishing.hashes import code_hash
from rating.publishing.results import Draws, places_of, results_of
from rating.report import RatingRow, agreement_report
from runs.canonical import digest, draw
from runs.plain_json import read_plain

FORMAT: Final = "compassion/bundle/1"
INTERNAL, PUBLIC = "internal", "public"
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can say
LARGEST: Final = 2_000_000_000  # bytes; nothing in a bundle is compressed, so it holds no more
MOST_FILES: Final = 16
MOST_DRAWS: Final = 1_000_000  # of chance, for one figure
MANIFEST, REPORT, DATA = "manifest.json", "report.json", "data.json"
FIGURES, REPLIES, RATINGS, README = "figures.csv", "replies.csv", "ratings.csv", "README.txt"
REPLY_COLUMNS: Final = tuple(field.name for field in fields(ReplyRow))
GIVEN_COLUMNS: Final = tuple(field.name for field in fields(GivenRow))
PUBLIC_COLUMNS: Final = ("response", "dimension", "rater", "slot", "level")
ABOUT: Final = {
    INTERNAL: (
        "Every row that the figures of this report are computed from. It says who said what: it is "
        "for the people of the wave alone. `manage.py reproduce` computes every figure again."
    ),
    PUBLIC: (
        "The report, its figures, and every counted rating under random codes. A code means "
        "nothing outside this file, and nothing here says which model a response is of. "
        "`manage.py reproduce` checks the hashes and computes the agreement again."
    ),
}
#: The mean of all ratings, less those of the models whose points are told, could be such a point.
BY_SUBTRACTION: Final = (
    "The ratings are left out: in some dimension or chamber, all or nearly all those of models "
    "whose points are not told are of one run, and its points could be worked out from them."
)
MOST_OF_ONE: Final = 0.9  # the largest share that one run may have of what is hidden


class BadBundle(ValueError):
    """A bundle that cannot be used, with the fault and the way on."""


@dataclass(frozen=True)
class Reproduced:
    """What came of computing a bundle again: how many figures, and which differ."""

    kind: str
    figures: int
    differences: tuple[str, ...]
    same_code: bool

    @property
    def identical(self) -> bool:
        return not self.differences


def internal_bundle(data: WaveData, draws: Draws | None = None) -> bytes:
    """Everything to compute the report again, and the report."""
    results = results_of(data, draws)
    content = content_of(results)
    # The two that are long have files of their own.
    plain = asdict(replace(data, replies=(), ratings=()))
    plain.pop("replies"), plain.pop("ratings")
    return _zipped(
        INTERNAL,
        {
            DATA: _dumped(plain),
            REPLIES: as_csv(REPLY_COLUMNS, [_cells(row, REPLY_COLUMNS) for row in data.replies]),
            RATINGS: as_csv(GIVEN_COLUMNS, [_cells(row, GIVEN_COLUMNS) for row in data.ratings]),
            REPORT: as_json(content),
            FIGURES: figures_csv(content),
        },
        draws=asdict(results.draws),
    )


def public_bundle(
    content: Content, data: WaveData, *, log: Mapping[str, Any] | None = None
) -> bytes:
    """The report and its ratings under random codes, without a key.

    ``log`` says how far the log had come: whoever keeps the bundle can tell whether it was changed.
    """
    schema.check(content)
    files = {REPORT: as_json(content), FIGURES: figures_csv(content)}
    left_out = withheld_by_subtraction(content, data)
    if not left_out:
        files[RATINGS] = as_csv(PUBLIC_COLUMNS, public_ratings(data))
    return _zipped(PUBLIC, files, left_out=left_out, **({"log": dict(log)} if log else {}))


def withheld_by_subtraction(content: Content, data: WaveData) -> str:
    """Why the single ratings may not be told, or nothing.

    What is left of them without the runs whose points are told must be of two runs at least in
    each dimension or chamber, and not almost all of one: their mean would be its point.
    """
    if content["parity"] and not data.ranges_only:
        return ""  # the means of both arms are told of every run
    alone = content["results"]["alone"] if content["results"] else []
    told = {row["subject"] for row in alone}
    shown = {run.key for run in data.compared if run.subject in told}
    _, place = places_of(data)
    hidden: dict[str, Counter[tuple[str, str]]] = {}
    for one in data.ratings:
        reply = data.reply[one.response]
        if (key := (reply.subject, reply.condition)) not in shown:
            hidden.setdefault(place[reply.item], Counter())[key] += 1
    most = (max(runs.values()) / runs.total() for runs in hidden.values())
    return BY_SUBTRACTION if any(share > MOST_OF_ONE for share in most) else ""


def public_ratings(data: WaveData) -> list[tuple[str, str, str, int, int]]:
    """Each counted rating, in the order of codes that mean nothing.

    A code is a hash of the response's own random one and of all others, which are told nowhere:
    nobody who knows a code name or a response can look for its code. Neither the day nor the item
    is told: models are asked in turn, and some items of some models are lost.
    """
    secret = digest(sorted(data.reply))
    _, place = places_of(data)
    rater = {
        name: f"r{number:03}"
        for number, name in enumerate(
            sorted({one.rater for one in data.ratings}, key=lambda name: draw(secret, name)), 1
        )
    }
    rows = [
        (
            draw(secret, one.response).hex()[:24],
            place[data.reply[one.response].item],
            rater[one.rater],
            one.slot,
            one.level,
        )
        for one in data.ratings
    ]
    return sorted(rows)


# Reading


def reproduce(path: Path) -> Reproduced:
    """Compute what a bundle allows to be computed again, and compare it with what it says.

    Raises
    ------
    BadBundle
        If it is no bundle, or a file is not what its manifest says.
    """
    files = read_bundle(path)
    try:
        return _reproduced(path, files)
    except BadBundle:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, csv.Error) as why:
        # Its hashes are right, and yet it is nothing that this program wrote.
        raise BadBundle(
            f"{path.name}: its rows are not those of a wave ({type(why).__name__}: {why}). "
            "Ask for the bundle again where it was made."
        ) from None


def _reproduced(path: Path, files: Mapping[str, str]) -> Reproduced:
    manifest = _read_json(path, files, MANIFEST)
    content: Content = _read_json(path, files, REPORT)
    try:
        schema.check(content)
    except schema.NotPublic as why:
        raise BadBundle(f"{path.name}: the report holds what it may not. {why}") from None
    same_code = content["hashes"]["code"] == code_hash()
    if figures_csv(content) != files[FIGURES]:
        raise BadBundle(f"{path.name}: {FIGURES} does not say what {REPORT} says.")
    if manifest["kind"] == INTERNAL:
        draws = Draws(**manifest["draws"])
        _bound_draws(path, asdict(draws).values())
        again = content_of(results_of(data_in(files), draws))
        again["hashes"]["code"] = content["hashes"]["code"]
        return Reproduced(INTERNAL, _count(content), tuple(_differing(content, again)), same_code)
    differences: list[str] = []
    figures = 0
    if RATINGS in files:
        _bound_draws(path, [content["agreement"]["replicates"]])
        found = _agreement_again(content, files[RATINGS])
        figures = _count(found)
        said = [
            {what: row[what] for what in ("name", "alpha", "ac2", "exact")}
            for row in content["agreement"]["rows"]
        ]
        differences += _differing(said, found, "agreement")
    return Reproduced(PUBLIC, figures, tuple(differences), same_code)


def read_bundle(path: Path) -> dict[str, str]:
    """The files of a bundle by name, each held to its hash. Raises ``BadBundle``."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BadBundle(f"{path.name} has {size:,} bytes; a bundle may have {LARGEST:,}.")
        with zipfile.ZipFile(path) as archive:
            _refuse_bombs(path, archive.infolist(), size)
            files = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}
    except BadBundle:
        raise
    except (OSError, zipfile.BadZipFile, ValueError, EOFError, RuntimeError, struct.error) as why:
        raise BadBundle(f"{path} is no bundle: {why}.") from None
    try:
        manifest = read_plain(files[MANIFEST])
        listed: dict[str, str] = {str(name): str(one) for name, one in manifest["files"].items()}
        known = manifest["format"] == FORMAT and manifest["kind"] in ABOUT
    except (KeyError, ValueError, TypeError, AttributeError):
        raise BadBundle(f"{path.name} has no manifest that can be read.") from None
    if not known:
        raise BadBundle(f"{path.name} is of another format; this program reads {FORMAT}.")
    if strange := sorted(listed.keys() ^ (files.keys() - {MANIFEST})):
        raise BadBundle(f"{path.name}: {strange[0]} is not both listed and there.")
    for name, wanted in listed.items():
        if _hash(files[name]) != wanted:
            raise BadBundle(
                f"{path.name}: {name} was changed; its hash is not that of the manifest."
            )
    for needed in (
        REPORT,
        FIGURES,
        *((DATA, REPLIES, RATINGS) if manifest["kind"] == INTERNAL else ()),
    ):
        if needed not in files:
            raise BadBundle(f"{path.name}: {needed} is missing.")
    return files


def _refuse_bombs(path: Path, entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse whatever could unfold into more than the bytes that are there."""
    if len(entries) > MOST_FILES:
        raise BadBundle(f"{path.name} holds {len(entries):,} files; a bundle has {MOST_FILES}.")
    if packed := next((one for one in entries if one.compress_type != zipfile.ZIP_STORED), None):
        raise BadBundle(
            f"{path.name}: {packed.filename!r} is compressed, and nothing in a bundle is. "
            "Take the file as it was downloaded."
        )
    if len({one.filename for one in entries}) < len(entries):
        raise BadBundle(f"{path.name}: a file is in it twice.")
    if sum(one.file_size for one in entries) > size:
        raise BadBundle(f"{path.name}: its files claim more bytes than it has.")


def _bound_draws(path: Path, draws: Iterable[int]) -> None:
    if not all(type(one) is int and 1 <= one <= MOST_DRAWS for one in draws):
        raise BadBundle(
            f"{path.name}: chance is to be drawn 1 to {MOST_DRAWS:,} times for a figure, and "
            "it asks for something else."
        )


def _read_json(path: Path, files: Mapping[str, str], name: str) -> Any:
    try:
        return read_plain(files[name])
    except ValueError as why:
        raise BadBundle(f"{path.name}: {name} is {why}.") from None


def data_in(files: Mapping[str, str]) -> WaveData:
    """The rows of an internal bundle."""
    plain = read_plain(files[DATA])
    return WaveData(
        wave=WaveRow(**plain["wave"]),
        bank=_one(BankRow, plain["bank"]),
        declared=_one(DeclaredRow, plain["declared"]),
        people=_one(PeopleRow, plain["people"]),
        items=_many(ItemRow, plain["items"]),
        pairs=_many(PairRow, plain["pairs"]),
        runs=_many(RunRow, plain["runs"]),
        replies=tuple(_reply(row) for row in _rows(files[REPLIES])),
        ratings=tuple(_given(row) for row in _rows(files[RATINGS])),
        settled=_many(SettledRow, plain["settled"]),
        probed=_many(ProbedRow, plain["probed"]),
        deviations=_many(DeviationRow, plain["deviations"]),
        earlier=_many(EarlierRun, plain["earlier"]),
        self_naming=plain["self_naming"],
        guesses=_many(GuessRow, plain["guesses"]),
        asking=_one(AskingRow, plain["asking"]),
        judges=_many(JudgeRow, plain.get("judges", ())),
    )


def _agreement_again(content: Content, ratings: str) -> list[Content]:
    rows = [
        RatingRow(row["rater"], row["response"], row["dimension"], float(row["level"]))
        for row in _rows(ratings)
    ]
    agreement = content["agreement"]
    names = [row["name"] for row in agreement["rows"][1:]]
    report = agreement_report(
        rows,
        content["wave"]["levels"],
        seed=agreement["seed"],
        replicates=agreement["replicates"],
        dimensions=names,
    )
    return [
        {
            "name": name,
            "alpha": figure_of(own.alpha_ordinal),
            "ac2": figure_of(own.ac2_ordinal),
            "exact": figure_of(own.percent_exact),
        }
        for name, own in report.rows
    ]


# Writing


def _zipped(kind: str, files: Mapping[str, str], **more: Any) -> bytes:
    """Stored without compression: how it compresses is not the same on every machine."""
    every = {**files, README: f"{ABOUT[kind]}\n"}
    manifest = {
        "format": FORMAT,
        "kind": kind,
        **more,
        "files": {name: _hash(text) for name, text in sorted(every.items())},
    }
    every[MANIFEST] = _dumped(manifest)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(every):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, every[name])
    return file.getvalue()


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cells(row: Any, columns: Sequence[str]) -> list[Any]:
    return [_cell(getattr(row, column)) for column in columns]


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return "true" if value is True else "false" if value is False else value


def _rows(text: str) -> Iterable[dict[str, str]]:
    # Fifty quotes of one rating may be longer than a cell that the reader takes by itself.
    before = csv.field_size_limit(max(len(text), 1))
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    finally:
        csv.field_size_limit(before)
    for row in rows:
        yield {name: unguarded(cell) for name, cell in row.items()}


def _reply(row: Mapping[str, str]) -> ReplyRow:
    whole = {name: int(row[name]) for name in ("trial", "position", "words", "naming")}
    return ReplyRow(**{**row, **whole})  # type: ignore[arg-type]


def _given(row: Mapping[str, str]) -> GivenRow:
    return GivenRow(
        row["response"],
        row["rater"],
        int(row["slot"]),
        int(row["level"]),
        row["critical_harm"] == "true",
        tuple(json.loads(row["tags"])),
        row["rated_at"],
        tuple(json.loads(row["quotes"])),
    )


def _one(make: Callable[..., Any], plain: Mapping[str, Any]) -> Any:
    """A row whose lists are tuples again, at every depth."""
    return make(**{name: _tupled(value) for name, value in plain.items()})


def _many(make: Callable[..., Any], rows: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(_one(make, row) for row in rows)


def _tupled(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tupled(one) for one in value)
    if isinstance(value, dict):
        return {name: _tupled(one) for name, one in value.items()}
    return value


# Comparing


def _count(value: Any) -> int:
    """How many numbers stand in it."""
    if isinstance(value, dict):
        return sum(_count(one) for one in value.values())
    if isinstance(value, list):
        return sum(_count(one) for one in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _differing(said: Any, again: Any, path: str = "") -> Iterable[str]:
    """Where the two differ, at the precision that is printed."""
    if isinstance(said, dict) and isinstance(again, dict) and said.keys() == again.keys():
        for key in said:
            yield from _differing(said[key], again[key], f"{path}.{key}".lstrip("."))
    elif isinstance(said, list) and isinstance(again, list) and len(said) == len(again):
        for place, (one, other) in enumerate(zip(said, again, strict=True)):
            yield from _differing(one, other, f"{path}[{place}]")
    elif said != again:
        yield f"{path}: {said!r} was said, {again!r} comes out."
