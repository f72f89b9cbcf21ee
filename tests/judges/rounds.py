"""Waves with words of their own in every reply, and rounds of judging asked to their end."""

from collections.abc import Sequence
from typing import Any

from rating.judges.acts import start
from rating.judges.asking import judge_chunk
from rating.judges.planning import Planned, plan_judging
from rating.models import Judgement, Judging, PanelJudge
from runs.models import Subject, Wave
from tests.factories import bank_data, make_bank, make_wave


def numbered(number: int) -> str:
    return f"This is reply [{number}]. I hear how heavy it is, and I stay with you tonight."


def wave_of(items: int, *first: str, **changes: Any) -> Wave:
    """A wave of so many responses, the first ones as given, each other with its number in it."""
    texts = [*first, *(numbered(number) for number in range(len(first), items))]
    return make_wave(make_bank(bank_data(items)), texts=texts, **changes)


def registered(wave: Wave, judges: Sequence[Subject], **changes: Any) -> Planned:
    return plan_judging(wave, [judge.code for judge in judges], **{"seed": "7", **changes})


def work_through(judging: Judging) -> Judging:
    """All that workers do for a round, until nothing of it is asked for."""
    for _ in range(4):
        judging.refresh_from_db()
        if judging.state != "asking":
            break
        for one in PanelJudge.objects.filter(judging=judging).order_by("number"):
            judge_chunk(panel_judge_id=one.pk)
    judging.refresh_from_db()
    return judging


def judged(wave: Wave, judges: Sequence[Subject], **changes: Any) -> Judging:
    """A round registered, started and asked to its end."""
    return work_through(start(registered(wave, judges, **changes).judging))


def pieces_of(judging: Judging, number: int) -> list[str]:
    """The piece of each reply that this judge of the panel is given, by which a script knows it."""
    rows = Judgement.objects.of(judging).filter(panel_judge__number=number).order_by("position")
    return [row.response.text[8:].split(".")[0] for row in rows.select_related("response")]
