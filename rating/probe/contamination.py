"""Both contamination probes of a scored run: what is asked, and what the answers show.

The questions follow from bank and run id, so no key lies beside them. Each is put by the host, and
answered by the subject; an answer that is missing or says nothing refuses the whole call, and is
never taken for a clean one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rating.probe.refusals import Refused, shown
from rating.probe.shelf import Shelf
from runs.canonical import digest
from runs.exposure import (
    FEWEST_TOKENS,
    FLAG_OVERLAP,
    FLAG_P,
    LETTERS,
    Answered,
    Contamination,
    Part,
    ProbeQuestion,
    Verdict,
    choice_questions,
    contamination,
    disclaims,
    read_recall,
    recall_questions,
    score,
    why_no_choice,
)

THOUSAND: Final = 1000
Key = TypeVar("Key", str, tuple[str, str])


@dataclass(frozen=True)
class Questions:
    """What a run must put to its subject. ``no_choice`` says why the choice cannot be put."""

    recalls: tuple[ProbeQuestion, ...]
    choices: Mapping[str, ProbeQuestion]
    no_choice: str

    @property
    def digest(self) -> str:
        """Of the very words, so that answers belong to the questions that were issued."""
        return digest([question.text for question in (*self.recalls, *self.choices.values())])


def questions_for(
    shelf: Shelf, planned: Sequence[str], *, include_sensitive: bool, seed: str
) -> Questions:
    """The questions to one subject: recall of planned items, choice among all that may be shown."""
    materials = shelf.materials(include_sensitive=include_sensitive)
    own = [material for material in materials if material.code in planned]
    choices = choice_questions(shelf.name, materials, seed=seed)
    return Questions(
        tuple(recall_questions(shelf.name, own, seed=seed)),
        {f"choice-{number}": question for number, question in enumerate(choices, start=1)},
        why_no_choice(materials),
    )


def issued(questions: Questions) -> dict[str, Any]:
    """The questions as they leave: no key, and no text of an item that is not asked for."""
    return {
        "recall": [
            {"item_id": question.item, "part": str(question.part), "question": question.text}
            for question in questions.recalls
        ],
        "identification": [
            {"question_id": name, "question": question.text, "options": list(LETTERS)}
            for name, question in questions.choices.items()
        ],
        "identification_unavailable": questions.no_choice or None,
    }


def check_answers(
    questions: Questions,
    recalls: Sequence[Mapping[str, str]],
    choices: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """The raw answers as they are kept: exactly one for each question.

    Raises
    ------
    Refused
        For an answer that is missing, given twice, to no question, or that says nothing.
    """
    wanted = [(question.item, str(question.part)) for question in questions.recalls]
    said = _one_each(
        wanted,
        [
            ((row["item_id"], row.get("part", str(Part.WORDING))), row["recalled_text"])
            for row in recalls
        ],
        "recall_attempts",
    )
    for (item, part), answer in said.items():
        if read_recall(answer) is None:
            raise Refused(
                f"The answer to {item}, {part}, has fewer than {FEWEST_TOKENS} words, which says "
                "neither that it is recalled nor that it is not. Ask the subject again."
            )
    picked = _one_each(
        list(questions.choices),
        [(row["question_id"], row["option"]) for row in choices],
        "identification_answers",
    )
    return {
        "recalls": [{"item_id": key[0], "part": key[1], "text": said[key]} for key in wanted],
        "choices": [{"question_id": name, "option": picked[name]} for name in questions.choices],
    }


def verdict_of(shelf: Shelf, questions: Questions, body: Mapping[str, Any]) -> Contamination:
    """What the raw answers show. They are checked anew, for they come from a file."""
    checked = check_answers(
        questions,
        [
            {"item_id": row["item_id"], "part": row["part"], "recalled_text": row["text"]}
            for row in body["recalls"]
        ],
        body["choices"],
    )
    materials = {one.code: one for one in shelf.materials(include_sensitive=True)}
    answers = [row["text"] for row in checked["recalls"]]
    answers += [row["option"] for row in checked["choices"]]
    asked = (*questions.recalls, *questions.choices.values())
    return contamination(
        (
            Answered(
                question.part,
                question.item,
                score(question.part, answer, materials[question.item], question.expected),
                disclaimed=question.part != Part.CHOICE and disclaims(answer),
            )
            for question, answer in zip(asked, answers, strict=True)
        ),
        no_choice=questions.no_choice,
    )


def as_json(found: Contamination) -> dict[str, Any]:
    """What both probes show, for a result."""
    highest = found.highest
    return {
        "verdict": str(found.verdict),
        "contamination_indicated": found.verdict == Verdict.FLAGGED,
        "recall": {
            "asked": len(found.recalls),
            "highest_overlap": _down(highest.score) if highest else None,
            "flagged_at": FLAG_OVERLAP,
            "flagged": [
                {"item_id": one.item, "part": str(one.part), "overlap": _down(one.score)}
                for one in found.recalls
                if one.flagged
            ],
            "recalled_nothing": found.disclaimed,
        },
        "identification": {
            "asked": len(found.choices),
            "right": found.right,
            "p": found.p,
            "flagged_below": FLAG_P,
            "unavailable_reason": found.no_choice or None,
        },
        "cautions": list(found.cautions),
    }


def _down(value: float | None) -> float:
    """Three decimals, rounded down: what is not flagged never looks as if it were."""
    return math.floor((value or 0.0) * THOUSAND) / THOUSAND


def _one_each(
    wanted: Sequence[Key], given: Sequence[tuple[Key, str]], field: str
) -> dict[Key, str]:
    found: dict[Key, str] = {}
    for key, answer in given:
        if key not in wanted:
            raise Refused(f"{field}: {shown(key)} was not asked in this run.")
        if key in found:
            raise Refused(f"{field}: {shown(key)} is answered twice; one answer counts.")
        found[key] = answer
    missing = [key for key in wanted if key not in found]
    if missing:
        raise Refused(
            f"{field}: {len(missing)} of {len(wanted)} questions have no answer, the first "
            f"{shown(missing[0])}. Nothing was kept: send all answers in one call."
        )
    return found
