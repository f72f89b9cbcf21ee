"""How often a 95% interval that we publish holds the truth, over many simulated studies.

    python -m tests.bench coverage [--studies N] [--processes P] [--keep FILE] [--write FILE]

What is counted is kept in a file, so that a run that was stopped goes on where it was.
"""

import json
import math
import os
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.bench.intervals import ROWS, Span, forget
from tests.bench.studies import Study

CHUNK = 20  # studies counted at once


@dataclass(frozen=True)
class Count:
    """Over studies: how many intervals were given, and how many of them held the truth."""

    given: int
    covered: int
    none: int

    @property
    def share(self) -> float:
        return self.covered / self.given if self.given else math.nan


def count_chunk(chunk: int, names: Collection[str] | None = None) -> dict[str, list[int]]:
    """Over the studies of one chunk, by row: intervals given, and how many held the truth."""
    rows = [row for row in ROWS if names is None or row.key in names]
    counts = {row.key: [0, 0] for row in rows}
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        study = Study.draw(number)
        for row in rows:
            covered = row.covers(study)
            if covered is not None:
                counts[row.key][0] += 1
                counts[row.key][1] += covered
        forget()
    return counts


def totals(chunks: dict[int, dict[str, list[int]]]) -> dict[str, Count]:
    """Sum what was counted in chunks of studies, for each row that was counted in any."""
    found: dict[str, Count] = {}
    for row in ROWS:
        kept = [rows[row.key] for rows in chunks.values() if row.key in rows]
        given, covered = (sum(column) for column in zip(*kept, strict=True)) if kept else (0, 0)
        found[row.key] = Count(given, covered, len(kept) * CHUNK - given)
    return found


def measure(n_studies: int, processes: int, keep: Path, write: Path | None = None) -> None:
    """Count what is not counted yet, print the table, and write it into a document if asked."""
    began = time.monotonic()
    chunks = _kept(keep)
    wanted = range(math.ceil(n_studies / CHUNK))
    missing = {
        number: [row.key for row in ROWS if row.key not in chunks.get(number, {})]
        for number in wanted
    }
    work = [(number, names) for number, names in missing.items() if names]
    with get_context("fork").Pool(processes) as pool, keep.open("a") as file:
        for number, rows in pool.imap_unordered(_counted, work):
            chunks.setdefault(number, {}).update(rows)
            file.write(json.dumps({"chunk": number, "rows": rows}) + "\n")
            file.flush()
    table = as_markdown(totals({number: chunks[number] for number in wanted}))
    print(table)
    print(f"{len(work) * CHUNK} studies in {time.monotonic() - began:.0f} s")
    if write:
        head, _, rest = write.read_text().partition("<!-- table -->\n")
        _, _, tail = rest.partition("<!-- end of table -->")
        write.write_text(f"{head}<!-- table -->\n{table}\n<!-- end of table -->{tail}")


def as_markdown(counts: dict[str, Count]) -> str:
    lines = [
        "| interval | held against | claimed | studies | held the truth | none given |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        found = counts[row.key]
        low, high = _wilson(found)
        lines.append(
            f"| {row.name} | {row.against} | {'yes' if row.claimed else 'no'} "
            f"| {found.given + found.none:,} "
            f"| {found.share:.1%} ({low:.1%} to {high:.1%}) | {found.none} |"
        )
    return "\n".join(lines)


def _wilson(found: Count) -> Span:
    from rating.standing import share_of

    share = share_of([True] * found.covered + [False] * (found.given - found.covered))
    return share.low or 0.0, share.high or 0.0


def _counted(work: tuple[int, list[str]]) -> tuple[int, dict[str, list[int]]]:
    return work[0], count_chunk(*work)


def _kept(keep: Path) -> dict[int, dict[str, list[int]]]:
    """What earlier runs counted, by the number of its chunk."""
    found: dict[int, dict[str, list[int]]] = {}
    for line in _lines(keep) if keep.exists() else ():
        found.setdefault(line["chunk"], {}).update(line["rows"])
    return found


def _lines(keep: Path) -> Iterator[dict]:
    for text in keep.read_text().splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue  # a run that was stopped may have left half a line


def processors() -> int:
    return len(os.sched_getaffinity(0))
