"""A judge session: single replies with a level and a reason, and no mean of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rating.probe.chain import Chain, Overtaken, Record
from rating.probe.folder import SESSIONS, chain_of, new_chain
from rating.probe.refusals import Refused, Tampered, shown
from rating.probe.schemas import ARGUMENTS, fault_in
from rating.probe.scored_run import MOST_ATTEMPTS, Now
from rating.probe.shelf import Shelf
from rating.stats.scores import ORDER

OPENED: Final = "opened"
ESTIMATED: Final = "estimated"
NAMES: Final = ("subject_label", "judge_model_label")


@dataclass
class JudgeSession:
    """A session as its records tell it. The newest estimate of an item is the one that stands."""

    chain: Chain
    shelf: Shelf
    session_id: str
    labels: dict[str, str]
    opened_at: str
    estimates: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)

    @classmethod
    def begin(
        cls, folder: Path, shelf: Shelf, session_id: str, given: Mapping[str, str], now: Now
    ) -> "JudgeSession":
        """Open a session."""
        labels = {name: given[name] for name in NAMES}
        chain = new_chain(folder, SESSIONS, session_id)
        record = chain.append(OPENED, labels, now())
        return cls(chain, shelf, session_id, labels, record.at)

    @classmethod
    def open(cls, folder: Path, shelf: Shelf, session_id: str) -> "JudgeSession":
        """Read a session from disk. Raises ``Refused`` or ``Tampered``."""
        chain = chain_of(folder, SESSIONS, session_id)
        record = next(chain.catch_up(), None)
        if record is None:
            raise Refused(f"{session_id} was cut off as it began. Open a new one.")
        if record.kind != OPENED or fault_in(ARGUMENTS["open_judge_session"], record.body):
            raise Tampered(f"The first record of {session_id} does not open a session.")
        session = cls(chain, shelf, session_id, record.body, record.at)
        session.catch_up()
        return session

    def catch_up(self) -> None:
        """Take in what another writer recorded. Raises ``Tampered``."""
        for record in self.chain.catch_up():
            self._take(record)

    def estimate(self, given: Mapping[str, Any], now: Now) -> int:
        """Store the estimate of one item; return how many of it stood there before."""
        if not given["response_text"].strip():
            raise Refused("response_text: is blank. What never came cannot be judged.")
        body = {key: value for key, value in given.items() if key != "session_id"}
        for _ in range(MOST_ATTEMPTS):
            self.catch_up()
            try:
                self._take(self.chain.append(ESTIMATED, body, now()))
            except Overtaken:
                continue
            return self.replaced[given["item_id"]]
        raise Refused("Others keep writing to this session. Try again.")

    @property
    def counts(self) -> dict[str, int]:
        """How many items of each dimension were estimated."""
        dimensions = [self.shelf.items[code].dimension for code in self.estimates]
        return {code: dimensions.count(code) for code in ORDER if code in dimensions}

    def _take(self, record: Record) -> None:
        given = {"session_id": self.session_id, **record.body}
        fault = fault_in(ARGUMENTS["record_item_estimate"], given)
        if record.kind != ESTIMATED or fault:
            raise Tampered(f"Record {record.number:06}.json of {self.session_id}: {fault}")
        code = record.body["item_id"]
        if code not in self.shelf.items:
            raise Tampered(f"{self.session_id} speaks of {shown(code)}, which is not in this bank.")
        self.replaced[code] = self.replaced.get(code, -1) + 1
        self.estimates[code] = (record.at, record.body)
