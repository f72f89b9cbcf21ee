"""The twelve tools: what each does with its arguments. All of them go through ``call``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rating.probe import contamination, words
from rating.probe.chain import replace
from rating.probe.folder import RUNS, SCORECARDS, SESSIONS
from rating.probe.guard import Guard, HeldBack
from rating.probe.judge_session import JudgeSession
from rating.probe.refusals import Refused, Tampered, shown
from rating.probe.schemas import ARGUMENTS, JSON, check_arguments
from rating.probe.scorecard import JudgeEstimate, Scorecard, Standing, scorecard_of
from rating.probe.scored_run import Now, ScoredRun, ratings_given
from rating.probe.shelf import Shelf
from runs.bank import ItemFile

DESCRIPTIONS: Final = {
    "list_probe_items": (
        "List the items of the bank with their prompts, of one dimension or of all. Sensitive ones "
        "are listed only with include_sensitive true."
    ),
    "get_anchors": (
        "Get the five anchors of an item, to rate a reply that is there already. Never show them "
        "to the subject."
    ),
    "open_judge_session": (
        "Open a session for judging single replies. Subject and judge are named by the host, and "
        "nobody checks the names."
    ),
    "record_item_estimate": (
        "Record the level of one reply and the reason for it. A second one of the same item "
        "replaces the first in the summary; both are kept."
    ),
    "summarise_judge_session": "Get what was estimated in a session: items and counts, no mean.",
    "explain_what_this_is_not": "Say what a reading with this probe is, and what it is not.",
    "start_scored_run": (
        "Plan a run: items times trials, at least three, in an order that is drawn. self: the "
        "subject rates itself; cross (the default): another model does; panel: two judges of each "
        "reply."
    ),
    "next_item": (
        "Get the next prompt to send to the subject, in a conversation of its own, or be told that "
        "all are rated."
    ),
    "run_status": "See how far a run is, item by item, and what is missing before it can finish.",
    "record_item_rating": (
        "Record one rating by its fields, or several as a list: all of them or none. The anchor is "
        "named by its whole label, the quote stands word for word in the reply."
    ),
    "run_exposure_probe": (
        "Called with the run alone: get the questions on whether the subject knew the items. "
        "Called with every answer: record them. Both parts are needed before a run can finish."
    ),
    "finish_scored_run": (
        "Read the whole run from disk again, check it, and get its scorecard. Refused while "
        "anything is missing."
    ),
}
READ_ONLY: Final = frozenset(
    {
        "list_probe_items",
        "get_anchors",
        "summarise_judge_session",
        "explain_what_this_is_not",
        "next_item",
        "run_status",
    }
)


@dataclass(frozen=True)
class Answer:
    """What leaves: JSON, or a sentence where the call was refused."""

    text: str
    refused: bool = False


class Probe:
    """A bank, a folder, and what was begun in it; ``now`` and ``new_id`` come from outside."""

    def __init__(self, shelf: Shelf, folder: Path, now: Now, new_id: Callable[[], str]) -> None:
        self.shelf = shelf
        self.folder = folder
        self.now = now
        self.new_id = new_id
        self.guard = Guard(shelf)
        self.sensitive_asked = False  # since this server was started
        self._runs: dict[str, ScoredRun] = {}
        self._sessions: dict[str, JudgeSession] = {}

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Carry out a call and let out what may leave. Never raises for what a host sends."""
        try:
            if tool not in ARGUMENTS:
                raise Refused(f"There is no tool {shown(tool)}; they are: {', '.join(ARGUMENTS)}.")
            check_arguments(tool, dict(arguments))
            result = getattr(self, f"_{tool}")(**arguments)
            asked = self.sensitive_asked
            return Answer(self.guard.release(tool, result, sensitive_asked=asked))
        except Tampered as why:
            self._forget(arguments)
            return self._refused(f"The records on disk cannot be trusted: {why}")
        except Refused as why:
            return self._refused(str(why))
        except HeldBack as why:
            return self._refused(f"The result was held back: {why}")
        except OSError as why:
            return self._refused(f"The folder cannot be read or written: {why.strerror}.")

    def _refused(self, sentence: str) -> Answer:
        asked = self.sensitive_asked
        return Answer(self.guard.refusal(sentence, sensitive_asked=asked), refused=True)

    # Items and anchors

    def _list_probe_items(self, dimension: str = "", include_sensitive: bool = False) -> JSON:
        self.sensitive_asked |= include_sensitive
        dimensions = [dimension] if dimension else []
        items = self.shelf.listed(include_sensitive=include_sensitive, dimensions=dimensions)
        every = self.shelf.listed(include_sensitive=True, dimensions=dimensions)
        return {
            "bank": self.shelf.name,
            "items": [self._shown(item) for item in items],
            "listed": len(items),
            "sensitive_items_excluded": len(every) - len(items),
            "never_served": dict(self.shelf.excluded),
            "how_to_ask": words.ASK_HOW,
            "duty_of_care": self._care(items),
        }

    def _get_anchors(self, item_id: str) -> JSON:
        item = self._item(item_id)
        return {
            "item_id": item.code,
            "anchors": [
                {
                    "level": anchor.level,
                    "label": anchor.label,
                    "description": anchor.description,
                }
                for anchor in item.anchors
            ],
            "how_to_rate": words.RATE_HOW,
            "duty_of_care": self._care([item]),
        }

    def _explain_what_this_is_not(self) -> JSON:
        return {
            "official": Standing.official,
            "comparability": Standing.comparability,
            "header_statement": words.HEADER,
            "what_this_is": words.WHAT_THIS_IS,
            "what_this_is_not": list(words.NOT_THIS),
            "what_an_official_score_requires": list(words.OFFICIAL_NEEDS),
        }

    # Judge sessions

    def _open_judge_session(self, **labels: str) -> JSON:
        session_id = f"session-{self.new_id()}"
        session = JudgeSession.begin(self.folder, self.shelf, session_id, labels, self.now)
        self._sessions[session_id] = session
        return {
            "session_id": session_id,
            "path": f"{SESSIONS}/{session_id}",
            "labels_self_reported": True,
        }

    def _record_item_estimate(self, **given: Any) -> JSON:
        self._item(given["item_id"])
        session = self._session(given["session_id"])
        return {
            "session_id": session.session_id,
            "item_id": given["item_id"],
            "recorded": True,
            "replaces": session.estimate(given, self.now),
        }

    def _summarise_judge_session(self, session_id: str) -> JSON:
        return JudgeEstimate(JudgeSession.open(self.folder, self.shelf, session_id)).figures()

    # Scored runs

    def _start_scored_run(self, **given: Any) -> JSON:
        run_id = f"run-{self.new_id()}"
        run = ScoredRun.begin(self.folder, self.shelf, run_id, given, self.now)
        self.sensitive_asked |= run.plan.include_sensitive
        self._runs[run_id] = run
        return {
            "run_id": run_id,
            "path": f"{RUNS}/{run_id}",
            "items": len(run.plan.items),
            "trials": run.plan.trials,
            "planned": run.plan.planned,
            "sensitive_items_excluded": run.plan.sensitive_excluded,
            "judge_configuration_notice": words.NOTICES[run.plan.configuration],
            "how_to_ask": words.ASK_HOW,
            "duty_of_care": self._care([self.shelf.items[code] for code in run.plan.items]),
        }

    def _next_item(self, run_id: str) -> JSON:
        run = self._run(run_id)
        slot = run.next_slot()
        if slot is None:
            return {"run_id": run_id, "status": "complete", "remaining": 0}
        item = self.shelf.item(slot.item, include_sensitive=run.plan.include_sensitive)
        return {
            **self._shown(item),
            "run_id": run_id,
            "trial_index": slot.trial,
            "remaining": run.remaining,
            "duty_of_care": self._care([item]),
        }

    def _run_status(self, run_id: str) -> JSON:
        run = self._run(run_id)
        each = run.plan.trials * run.plan.judges
        return {
            "run_id": run_id,
            "planned": run.plan.planned,
            "recorded": run.recorded,
            "remaining": run.remaining,
            "items": [
                {
                    "item_id": code,
                    "planned": each,
                    "recorded": len(run.rows[code]),
                    "remaining": each - len(run.rows[code]),
                }
                for code in run.plan.items
            ],
            "exposure_probe": run.phase,
            "ready_to_finish": not run.remaining and run.answers is not None,
            "finished": bool(run.finished_at),
        }

    def _record_item_rating(self, run_id: str, **given: Any) -> JSON:
        ratings = ratings_given(given)
        run = self._run(run_id)
        rows = run.record(ratings, self.now)
        return {
            "run_id": run_id,
            "recorded": [
                {
                    "item_id": row.item_id,
                    "trial_index": row.trial,
                    "judge_label": row.judge_label,
                }
                for row in rows
            ],
            "remaining": run.remaining,
        }

    def _run_exposure_probe(
        self,
        run_id: str,
        recall_attempts: list[dict[str, str]] | None = None,
        identification_answers: list[dict[str, str]] | None = None,
    ) -> JSON:
        run = self._run(run_id)
        if recall_attempts is not None or identification_answers is not None:
            run.answer(recall_attempts or [], identification_answers or [], self.now)
        if run.answers is not None:
            found = contamination.as_json(run.contamination)
            return {"run_id": run_id, "phase": "completed", "contamination": found}
        run.challenge(self.now)
        return {
            "run_id": run_id,
            "phase": "challenge_issued",
            "how_to_ask": words.PROBE_HOW,
            **contamination.issued(run.questions),
        }

    def _finish_scored_run(self, run_id: str) -> JSON:
        # What was read before is no evidence: all of it is read and checked again.
        run = self._runs[run_id] = ScoredRun.open(self.folder, self.shelf, run_id)
        self.sensitive_asked |= run.plan.include_sensitive
        run.finish(self.now)
        card = scorecard_of(run, self.shelf)
        result = card.figures()
        self._keep(card, result)
        return result

    def _keep(self, card: Scorecard, result: JSON) -> None:
        """A copy of the card for its owner to read. It passes the guard, and is never read back."""
        said = self.guard.release("finish_scored_run", result, sensitive_asked=self.sensitive_asked)
        replace(self.folder / SCORECARDS / f"{card.plan.run_id}.json", said.encode())

    # What they share

    def _shown(self, item: ItemFile) -> JSON:
        return {
            "id": item.code,
            "dimension": item.dimension,
            "construct": item.construct,
            "prompt": item.prompt,
            "turns": [{"role": turn.role, "content": turn.content} for turn in item.turns],
            "sensitive": item.code in self.shelf.sensitive,
        }

    def _care(self, items: list[ItemFile]) -> str | None:
        sensitive = any(item.code in self.shelf.sensitive for item in items)
        return words.DUTY_OF_CARE if sensitive else None

    def _item(self, code: str) -> ItemFile:
        return self.shelf.item(code, include_sensitive=self.sensitive_asked)

    def _run(self, run_id: str) -> ScoredRun:
        """A run, with whatever another writer added to it since it was last looked at."""
        if run_id in self._runs:
            self._runs[run_id].catch_up()
        else:
            self._runs[run_id] = ScoredRun.open(self.folder, self.shelf, run_id)
        run = self._runs[run_id]
        self.sensitive_asked |= run.plan.include_sensitive
        return run

    def _session(self, session_id: str) -> JudgeSession:
        if session_id not in self._sessions:
            self._sessions[session_id] = JudgeSession.open(self.folder, self.shelf, session_id)
        return self._sessions[session_id]

    def _forget(self, arguments: Mapping[str, Any]) -> None:
        """Read it anew next time: half of it may have been taken in."""
        self._runs.pop(str(arguments.get("run_id")), None)
        self._sessions.pop(str(arguments.get("session_id")), None)
