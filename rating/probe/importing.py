"""A finished probe run as a local wave, so that people may rate what the subject said.

The replies come over and nothing else: a model's levels are no ratings of a person, and never sit
among them. The wave says of itself what it is.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction

from rating.probe.folder import RUNS, names_in
from rating.probe.rated import Row
from rating.probe.refusals import Refused
from rating.probe.scored_run import ScoredRun
from rating.probe.shelf import Shelf
from runs.bank import BankFile
from runs.control import cancel
from runs.models import NOT_STATED, Bank, Item, Run, Wave
from runs.plan_file import PlanFileRefused, plan_of
from runs.waves import import_responses, plan_wave

CONDITION: Final = "probe"
ACCESS: Final = "local probe: named by its host, not blinded"
ADMINISTERED: Final = {
    "self": "The subject rated its own replies.",
    "cross": "Another model rated the replies.",
    "panel": "A panel of models rated the replies.",
}


@dataclass(frozen=True)
class Imported:
    """The wave that came of a run, and what there is to say of it, a sentence each."""

    wave: Wave
    told: tuple[str, ...]


def import_run(
    shelf: Shelf, folder: Path, run_id: str, *, developer: str, family: str, snapshot: str
) -> Imported:
    """Load a finished run, all of it or nothing.

    Parameters
    ----------
    shelf : Shelf
        Of the bank that the run was taken with.
    folder : Path
        The folder of the probe.
    run_id : str
        Which run; the only finished one where it is empty.
    developer, family, snapshot : str
        Who the subject is said to be; the label it had is its snapshot where none is given.

    Raises
    ------
    Refused
        If the run is not finished, or its records are not as the probe wrote them.
    WaveRefused
        If it was loaded before, or the subject cannot be registered so.
    """
    run = _finished(shelf, folder, run_id)
    with transaction.atomic():
        bank = _bank(shelf.bank)
        data = plan_data(run, bank, developer, family, snapshot or run.plan.subject_label)
        try:
            wave = plan_wave(plan_of(data))
        except PlanFileRefused as why:
            raise Refused(str(why)) from None
        served = set(Item.objects.served().filter(bank=bank).values_list("code", flat=True))
        replies = {(row.item_id, row.trial): row for row in run.every_row if row.item_id in served}
        planned = Run.objects.select_related("subject", "wave").get(wave=wave)
        stored = _store(planned, list(replies.values()))
        told = [
            f"{wave} holds {stored} replies for two human raters each: local, not official, "
            "comparability none.",
            "The levels that models gave stay in the probe's folder.",
        ]
        if left := len(run.plan.items) - len(served & set(run.plan.items)):
            told.append(f"{left} sensitive items were left out: no wave serves them by default.")
        if pending := planned.responses.pending().count():
            cancel(wave, "The probe run did not ask these.", run=planned)
            told.append(f"{pending} trials of other items were not asked, and are not asked now.")
    return Imported(wave, tuple(told))


def plan_data(
    run: ScoredRun, bank: Bank, developer: str, family: str, snapshot: str
) -> dict[str, Any]:
    """The tables of a plan file that say what the run was."""
    plan = run.plan
    sampling = {} if plan.temperature is None else {"temperature": plan.temperature}
    return {
        "code": f"probe-{plan.run_id[4:16]}",
        "title": f"Local probe run of {plan.subject_label[:120]}: not official, not blinded",
        "kind": "local",
        "bank": str(bank),
        "seed": plan.run_id,
        "trials": plan.trials,
        "preregistration": what_it_is(run),
        "subjects": [
            {
                "developer": developer,
                "family": family,
                "snapshot": snapshot,
                "provider": "import",
                "access_tier": ACCESS,
                "quantisation": NOT_STATED,
                "sampling": sampling,
                "conditions": [{"name": CONDITION, "system_message": ""}],
            }
        ],
    }


def what_it_is(run: ScoredRun) -> str:
    """What readers of the wave must know, in the place where others are pre-registered."""
    plan, found = run.plan, run.contamination
    return "\n".join(
        [
            "Not pre-registered. These replies come from a run of the local probe.",
            "",
            f"Run: {plan.run_id}, begun {plan.started_at}, finished {run.finished_at}.",
            f"Administered by a host that asked and rated ({plan.configuration}), not blinded. "
            f"{ADMINISTERED[plan.configuration]} Its levels are not in this wave.",
            f"Subject as the host named it: {plan.subject_label}. Judge: {plan.judge_label}. "
            "Nobody checked these names.",
            f"Contamination probes, as the host put them: {found.verdict}.",
            f"Hash of the last record: {run.chain.last_hash}.",
            "Official: no. Comparability: none.",
        ]
    )


def _finished(shelf: Shelf, folder: Path, run_id: str) -> ScoredRun:
    if not (folder / RUNS).is_dir():
        raise Refused(f"{folder} is no folder of the probe: it has no {RUNS} in it.")
    names = [run_id] if run_id else names_in(folder, RUNS)
    if not names:
        raise Refused(f"There is no run in {folder}.")
    found = [ScoredRun.open(folder, shelf, name) for name in names]
    finished = [run for run in found if run.finished_at]
    if not finished:
        raise Refused(
            f"No run in {folder} is finished. Finish one with finish_scored_run first."
            if not run_id
            else f"{run_id} is not finished. Finish it with finish_scored_run first."
        )
    if len(finished) > 1:
        ids = ", ".join(run.plan.run_id for run in finished)
        raise Refused(f"Several runs in {folder} are finished; name one with --run: {ids}.")
    finished[0].chain.refuse_strangers()
    return finished[0]


def _bank(file: BankFile) -> Bank:
    try:
        bank, _ = Bank.objects.import_file(file)
    except ValidationError as why:
        raise Refused(" ".join(why.messages)) from None
    return bank


def _store(run: Run, rows: list[Row]) -> int:
    """Store the replies through the door that every imported reply takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replies.jsonl"
        path.write_text("".join(_lines(rows)), encoding="utf-8")
        return import_responses(run, path)


def _lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        line = {"item": row.item_id, "trial": row.trial, "text": row.response_text}
        yield json.dumps(line, ensure_ascii=False) + "\n"
