"""A scored run: its plan, its rows and its probe answers, all of it records of one chain.

What a record says is checked when it comes from a call and again, by the same rules, when it comes
from disk. So a file that somebody edited is found out at the latest when the run is finished.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rating.probe import contamination
from rating.probe.chain import Chain, Overtaken, Record
from rating.probe.contamination import Questions, questions_for
from rating.probe.folder import RUNS, chain_of, new_chain
from rating.probe.rated import JUDGES, Row, check_labels, check_row, judge_of, trial_for
from rating.probe.refusals import Refused, Tampered, shown
from rating.probe.schemas import ARGUMENTS, fault_in
from rating.probe.shelf import Shelf, known_dimensions
from runs.exposure import Contamination
from runs.plan import PlanRefused, Slot, plan_order

DEFAULT_TRIALS: Final = 3
MOST_ATTEMPTS: Final = 1_000  # to write while others write, too
PLAN, RATINGS, CHALLENGE, ANSWERS, FINISHED = "plan", "ratings", "challenge", "answers", "finished"
RATED: Final = ("item_id", "response_text", "rating_1_5", "anchor_matched", "evidence_quote")

Now = Callable[[], datetime]


@dataclass(frozen=True)
class Plan:
    """What a run set out to do. ``seed`` draws the order; the run's id does where it is None."""

    run_id: str
    subject_label: str
    judge_label: str
    configuration: str
    dimensions: tuple[str, ...]
    trials: int
    seed: int | None
    temperature: float | None
    include_sensitive: bool
    items: tuple[str, ...]
    sensitive_excluded: int
    bank_version: str
    bank_hash: str
    started_at: str

    @property
    def judges(self) -> int:
        """How many rate each reply."""
        return JUDGES[self.configuration]

    @property
    def planned(self) -> int:
        """How many ratings make the run complete."""
        return len(self.items) * self.trials * self.judges

    @property
    def order(self) -> list[Slot]:
        """Every trial in the order of asking, those of an item numbered as they come.

        Raises ``Refused`` where no order keeps them apart.
        """
        seed = self.run_id if self.seed is None else str(self.seed)
        try:
            drawn = plan_order(seed, self.subject_label, "probe", self.items, self.trials)
        except PlanRefused as why:
            raise Refused(str(why)) from None
        asked: Counter[str] = Counter()
        order = []
        for slot in drawn:
            asked[slot.item] += 1
            order.append(Slot(slot.item, asked[slot.item]))
        return order


def plan_of(shelf: Shelf, run_id: str, given: Mapping[str, Any], at: datetime) -> Plan:
    """The plan that these arguments ask for. Raises ``Refused`` where it cannot be carried out."""
    configuration = given.get("judgeConfiguration", "cross")
    check_labels(configuration, given["subject_label"], given["judge_label"])
    dimensions = known_dimensions(given.get("dimensions", ()))
    include = given.get("include_sensitive", False)
    items = shelf.listed(include_sensitive=include, dimensions=dimensions)
    every = shelf.listed(include_sensitive=True, dimensions=dimensions)
    if not items:
        raise Refused(f"{shelf.name} serves no item in {', '.join(dimensions)}.")
    return Plan(
        run_id=run_id,
        subject_label=given["subject_label"],
        judge_label=given["judge_label"],
        configuration=configuration,
        dimensions=dimensions,
        trials=given.get("trials", DEFAULT_TRIALS),
        seed=given.get("seed"),
        temperature=given.get("temperature"),
        include_sensitive=include,
        items=tuple(item.code for item in items),
        sensitive_excluded=len(every) - len(items),
        bank_version=shelf.name,
        bank_hash=shelf.bank.content_hash,
        started_at=at.isoformat(),
    )


@dataclass
class ScoredRun:
    """A run as its records tell it, as far as they were read."""

    chain: Chain
    shelf: Shelf
    plan: Plan
    rows: dict[str, list[Row]] = field(default_factory=dict)
    challenged: bool = False
    answers: dict[str, Any] | None = None
    finished_at: str = ""
    _order: list[Slot] = field(default_factory=list)
    _at: int = 0

    @classmethod
    def begin(
        cls, folder: Path, shelf: Shelf, run_id: str, given: Mapping[str, Any], now: Now
    ) -> "ScoredRun":
        """Store a plan as the first record of a new run. Raises ``Refused``."""
        plan = plan_of(shelf, run_id, given, now())
        order = plan.order
        chain = new_chain(folder, RUNS, run_id)
        chain.append(PLAN, asdict(plan), now())
        return cls._of(chain, shelf, plan, order)

    @classmethod
    def open(cls, folder: Path, shelf: Shelf, run_id: str) -> "ScoredRun":
        """Read a run from disk, every record checked. Raises ``Refused`` or ``Tampered``."""
        chain = chain_of(folder, RUNS, run_id)
        record = next(chain.catch_up(), None)
        if record is None:
            raise Refused(f"{run_id} has no plan: it was cut off as it began. Start a new one.")
        plan = _plan_in(record, shelf, run_id)
        run = cls._of(chain, shelf, plan, plan.order)
        run.catch_up()
        return run

    @classmethod
    def _of(cls, chain: Chain, shelf: Shelf, plan: Plan, order: list[Slot]) -> "ScoredRun":
        return cls(chain, shelf, plan, {code: [] for code in plan.items}, _order=order)

    # What is known of it

    @cached_property
    def questions(self) -> Questions:
        """What both contamination probes ask of its subject."""
        return questions_for(
            self.shelf,
            self.plan.items,
            include_sensitive=self.plan.include_sensitive,
            seed=self.plan.run_id,
        )

    @property
    def every_row(self) -> list[Row]:
        return [row for code in self.plan.items for row in self.rows[code]]

    @property
    def recorded(self) -> int:
        return sum(map(len, self.rows.values()))

    @property
    def remaining(self) -> int:
        return self.plan.planned - self.recorded

    @property
    def phase(self) -> str:
        """How far the contamination probes are."""
        if self.answers is not None:
            return "completed"
        return "challenge_issued" if self.challenged else "not_started"

    @property
    def contamination(self) -> Contamination:
        """What both probes show. Raises ``Refused`` before they are complete."""
        if self.answers is None:
            raise Refused(
                "The contamination probes are not complete. Call run_exposure_probe, put its "
                "questions to the subject, and call it again with the answers."
            )
        return contamination.verdict_of(self.shelf, self.questions, self.answers)

    def next_slot(self) -> Slot | None:
        """The first trial in order that still wants a rating; None where all have theirs."""
        while self._at < len(self._order):
            slot = self._order[self._at]
            own = sum(row.trial == slot.trial for row in self.rows[slot.item])
            if own < self.plan.judges:
                return slot
            self._at += 1
        return None

    # What is done to it

    def catch_up(self) -> None:
        """Take in what another writer recorded. Raises ``Tampered``."""
        for record in self.chain.catch_up():
            try:
                self._take(record)
            except Tampered:
                raise
            except (Refused, KeyError, TypeError, ValueError) as why:
                raise Tampered(
                    f"Record {record.number:06}.json of {self.plan.run_id} does not hold: {why}"
                ) from None

    def record(self, given: Sequence[Mapping[str, Any]], now: Now) -> list[Row]:
        """Store some ratings, all or none. Raises ``Refused`` with the first one's fault."""
        rows: list[Row] = []

        def body() -> dict[str, Any]:
            if self.finished_at:
                raise Refused(f"{self.plan.run_id} is finished: it takes no more ratings.")
            nonlocal rows
            rows = self._checked(given)
            return {"rows": [row.as_json() for row in rows]}

        self._append(RATINGS, body, now)
        return rows

    def challenge(self, now: Now) -> None:
        """Issue the questions of the probes; once issued they stay the same."""
        self.catch_up()
        if not self.challenged:
            self._append(CHALLENGE, lambda: {"questions": self.questions.digest}, now)

    def answer(
        self,
        recalls: Sequence[Mapping[str, str]],
        choices: Sequence[Mapping[str, str]],
        now: Now,
    ) -> None:
        """Store the answers to both probes, all or none. Raises ``Refused``."""

        def body() -> dict[str, Any]:
            if not self.challenged:
                raise Refused(
                    "No question was issued. Call run_exposure_probe with the run_id alone first."
                )
            if self.answers is not None:
                raise Refused("Both probes are answered already; the first answers count.")
            return contamination.check_answers(self.questions, recalls, choices)

        self._append(ANSWERS, body, now)

    def finish(self, now: Now) -> None:
        """Close the run, once. Raises ``Refused`` while anything is missing."""
        self.chain.refuse_strangers()
        if self.finished_at:
            return
        if self.remaining:
            raise Refused(
                f"{self.remaining} of {self.plan.planned} ratings are missing; run_status says "
                "of which items."
            )
        _ = self.contamination  # both probes, from their raw answers
        self._append(FINISHED, lambda: {"rows": self.recorded}, now)

    def _append(self, kind: str, body: Callable[[], dict[str, Any]], now: Now) -> None:
        """Write a record after the last one there is, whoever wrote that."""
        for _ in range(MOST_ATTEMPTS):
            self.catch_up()
            try:
                record = self.chain.append(kind, body(), now())
            except Overtaken:
                continue
            self._take(record)
            return
        raise Refused("Others keep writing to this run. Try again.")

    def _take(self, record: Record) -> None:
        """Let a record count. Raises whatever a rule says against it."""
        if self.finished_at:
            raise Tampered(f"{self.plan.run_id} was written to after it was finished.")
        match record.kind:
            case "ratings":
                given = [_as_given(row) for row in record.body["rows"]]
                rows = self._checked(given)
                if [row.as_json() for row in rows] != record.body["rows"]:
                    raise Tampered(f"Record {record.number:06}.json holds rows that do not fit.")
                for row in rows:
                    self.rows[row.item_id].append(row)
            case "challenge":
                if record.body["questions"] != self.questions.digest:
                    raise Tampered("The questions were issued by another version. Start anew.")
                self.challenged = True
            case "answers":
                if self.answers is not None or not self.challenged:
                    raise Tampered("Answers stand where none are expected.")
                contamination.verdict_of(self.shelf, self.questions, record.body)
                self.answers = record.body
            case "finished":
                if self.remaining or self.answers is None:
                    raise Tampered(f"{self.plan.run_id} was finished before it was complete.")
                self.finished_at = record.at
            case _:
                raise Tampered(f"There is no record of the kind {shown(record.kind)}.")

    def _checked(self, given: Sequence[Mapping[str, Any]]) -> list[Row]:
        """The rows of these ratings, each in its trial. Raises ``Refused``, naming which."""
        beside: dict[str, list[Row]] = {}
        found = []
        for number, one in enumerate(given):
            try:
                row = self._checked_one(one, beside)
            except Refused as why:
                if len(given) == 1:
                    raise
                raise Refused(f"ratings.{number}: {why} None of them was kept.") from None
            beside.setdefault(row.item_id, []).append(row)
            found.append(row)
        return found

    def _checked_one(self, given: Mapping[str, Any], beside: Mapping[str, list[Row]]) -> Row:
        code = given["item_id"]
        if code not in self.rows:
            raise Refused(f"item_id: {shown(code)} is not planned in this run.")
        own = [*self.rows[code], *beside.get(code, [])]
        plan = self.plan
        judge = judge_of(
            plan.configuration, plan.subject_label, plan.judge_label, given.get("judge_label")
        )
        trial = trial_for(own, given["response_text"], judge, plan.configuration)
        if trial > plan.trials:
            raise Refused(
                f"{code} has all its {plan.trials} trials; call next_item for one that is open."
            )
        item = self.shelf.item(code, include_sensitive=plan.include_sensitive)
        return check_row(item, given, trial, judge)


def ratings_given(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The ratings in a call: one by its own fields, or a list of them. Raises ``Refused``."""
    own = [name for name in (*RATED, "judge_label") if name in arguments]
    if "ratings" in arguments:
        if own:
            raise Refused(f"Give either ratings or the fields of one, not both: {own[0]} is there.")
        return list(arguments["ratings"])
    if missing := [name for name in RATED if name not in arguments]:
        raise Refused(f"{missing[0]} is missing.")
    return [{name: arguments[name] for name in own}]


def _as_given(row: Any) -> dict[str, Any]:
    """A stored row as it would be given; what is not of that shape is refused."""
    if not isinstance(row, dict) or row.keys() != {one.name for one in fields(Row)}:
        raise Tampered("a row has other fields than a row has.")
    given = {name: row[name] for name in (*RATED, "judge_label") if name != "rating_1_5"}
    given["rating_1_5"] = row["level"]
    if fault := fault_in(ARGUMENTS["record_item_rating"]["properties"]["ratings"]["items"], given):
        raise Tampered(fault)
    return given


def _plan_in(record: Record, shelf: Shelf, run_id: str) -> Plan:
    """The plan in the first record, if this bank and these rules give the same one."""
    told = record.body
    if record.kind != PLAN or told.keys() != {one.name for one in fields(Plan)}:
        raise Tampered(f"The first record of {run_id} is no plan.")
    if told["bank_hash"] != shelf.bank.content_hash:
        raise Refused(
            f"{run_id} was begun with the bank {shown(told['bank_version'])}, and this is "
            f"{shelf.name} with other content. Start the probe with that bank."
        )
    given = {
        "subject_label": told["subject_label"],
        "judge_label": told["judge_label"],
        "judgeConfiguration": told["configuration"],
        "trials": told["trials"],
        "include_sensitive": told["include_sensitive"],
    }
    for name in ("seed", "temperature"):
        if told[name] is not None:
            given[name] = told[name]
    if told["dimensions"]:
        given["dimensions"] = told["dimensions"]
    if fault := fault_in(ARGUMENTS["start_scored_run"], given):
        raise Tampered(f"The plan of {run_id} does not hold: {fault}")
    try:
        plan = plan_of(shelf, run_id, given, datetime.fromisoformat(told["started_at"]))
    except (TypeError, ValueError) as why:
        raise Tampered(f"The plan of {run_id} does not hold: {why}") from None
    if _listed(asdict(plan)) != _listed(told):
        raise Tampered(f"The plan of {run_id} is not the one that its arguments give.")
    return plan


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    """With lists for tuples, as JSON gives them back."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
