"""What a reply gives away, as its row keeps it. Recorded, and never a reason to stop."""

from functools import lru_cache
from typing import Any

from runs.models import Item, Run, Subject
from runs.preflight import index_of
from runs.self_naming import find_naming, terms_of


def traces_of(run: Run, item: Item, text: str) -> dict[str, Any]:
    """The columns of what a reply repeats of the bank, and of where it names its maker."""
    if not text:
        return {"leak_hits": [], "self_naming": []}
    return {
        "leak_hits": [hit.as_row() for hit in index_of(run.wave.bank).hits(text, of=item.code)],
        "self_naming": [
            [naming.start, naming.end, naming.term]
            for naming in find_naming(text, own_terms(run.subject))
        ],
    }


def own_terms(subject: Subject) -> tuple[str, ...]:
    return _terms(subject.developer, subject.family, subject.snapshot, tuple(subject.aliases))


@lru_cache(maxsize=256)
def _terms(developer: str, family: str, snapshot: str, aliases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(terms_of(developer, family, snapshot, aliases)))
