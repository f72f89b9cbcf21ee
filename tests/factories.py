"""The plainest valid rows. A test states what matters to it."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import combinations, count, cycle
from typing import Any

from django.utils import timezone

from rating import seeding
from rating.models import (
    Assignment,
    Judge,
    Judgement,
    Judging,
    Kind,
    Norming,
    PanelJudge,
    Rating,
    Role,
    Seed,
    Slot,
    User,
)
from rating.people import give_roles
from rating.queue import Given, hand, lease, open_slots, rate, rate_and_lease
from rating.quotes import Span
from runs.bank import check_bank
from runs.models import Bank, Response, Run, Status, Subject, Wave

WORDS = ("Critical", "Developing", "Functional", "Established", "Exemplary")
PLACES = ("AWR", "EMP", "ACT", "EQU", "BND", "ACC", "SYS", "INT")
FIRST_SUBDIMENSION = dict(
    zip(PLACES, ("A1", "E1", "AC1", "EQ1", "B1", "AB1", "S1", "I1"), strict=True)
)
REPLY = "I hear how heavy this is for you. There is no need to carry it alone tonight."

_numbers = count(1)


def item_data(number: int, **changes: Any) -> dict[str, Any]:
    """Item ``number`` of a Model Index bank, each in the dimension after the last one's."""
    dimension = PLACES[number % len(PLACES)]
    letter = chr(ord("A") + number // len(PLACES) % 26) + str(number // (26 * 8) or "")
    return {
        "id": f"{dimension}-1-{letter}",
        "dimension": dimension,
        "indicator": FIRST_SUBDIMENSION[dimension],
        "construct": f"construct {number}",
        "prompt": f"What can I do about worry number {number}?",
        "anchors": [
            {
                "level": level,
                "label": f"{level}.0 {word}",
                "description": f"Level {level} of {number}.",
            }
            for level, word in enumerate(WORDS, start=1)
        ],
        **changes,
    }


def bank_data(items: int = 3, **meta: Any) -> dict[str, Any]:
    """A bank file that passes every check."""
    return {
        "meta": {
            "schemaVersion": "1.1",
            "bankVersion": f"t{next(_numbers)}",
            "fieldSeparationPolicy": {"modelFacingFields": ["prompt"]},
            **meta,
        },
        "items": [item_data(number) for number in range(items)],
    }


def pair_bank_data(pairs: int = 1) -> dict[str, Any]:
    """An Unconditionality bank of so many pairs, all in one chamber."""
    return {
        "meta": {
            "name": "Unconditionality",
            "bankVersion": f"t{next(_numbers)}",
            "instrument": "unconditionality",
            "fieldSeparationPolicy": {"modelFacingFields": ["prompt"]},
            "rubric": [
                {"level": level, "label": f"{level} Word", "description": f"Level {level}."}
                for level in range(6)
            ],
            "chambers": [{"code": "1", "name": "Moral Status"}],
        },
        "items": [
            {
                "id": f"UNC-1-{number:02}-{arm}",
                "prompt": f"I am {arm} and lonely, {number} days now.",
            }
            for number in range(pairs)
            for arm in "AB"
        ],
        "pairs": [
            {
                "id": f"UNC-1-{number:02}",
                "chamber": "1",
                "a": f"UNC-1-{number:02}-A",
                "b": f"UNC-1-{number:02}-B",
            }
            for number in range(pairs)
        ],
    }


def make_bank(data: dict[str, Any] | None = None) -> Bank:
    bank, _ = Bank.objects.import_file(check_bank(data or bank_data()))
    return bank


def make_wave(
    bank: Bank | None = None,
    *,
    trials: int = 1,
    text: str = REPLY,
    texts: Sequence[str] = (),
    subjects: Sequence[str] = ("kind-1-2026-01-01",),
    locked: bool = True,
    naming: Sequence[Sequence[int | str]] = (),
) -> Wave:
    """A wave whose every reply has come, ready to be rated; unless ``naming`` says who made it.

    Every reply is ``text``, or one of ``texts`` in turn.
    """
    words = texts or [text]
    bank = bank or make_bank()
    number = next(_numbers)
    wave = Wave.objects.create(
        code=f"w{number}",
        title=f"Wave {number}",
        bank=bank,
        seed="7",
        trials=trials,
        preregistration_hash=hashlib.sha256(b"").hexdigest(),
    )
    for snapshot in subjects:
        subject, _ = Subject.objects.get_or_create(
            developer="Dev", family="Kind", snapshot=snapshot, provider="demo"
        )
        run = Run.objects.create(wave=wave, subject=subject)
        Response.objects.bulk_create(
            Response(
                run=run,
                item=item,
                trial=trial,
                position=position,
                seed=1,
                status=Status.COMPLETED,
                text=words[position % len(words)],
                text_hash=hashlib.sha256(words[position % len(words)].encode()).hexdigest(),
                self_naming=[list(one) for one in naming],
                completed_at=timezone.now(),
            )
            for position, (trial, item) in enumerate(
                (trial, item) for trial in range(1, trials + 1) for item in bank.items.all()
            )
        )
    if locked:
        wave.locked_at = timezone.now()
        wave.save(update_fields=["locked_at"])
    open_slots(list(Response.objects.of_wave(wave).values_list("pk", flat=True)))
    return wave


def make_user(*roles: str, email: str = "", password: str | None = None, **fields: Any) -> User:
    number = next(_numbers)
    user = User.objects.create_user(
        email or f"person{number}@example.org",
        password,
        **{"name": f"Person {number}", **fields},
    )
    give_roles(user, roles)
    return user


def make_rater(**fields: Any) -> User:
    return make_user(Role.RATER, **fields)


def leased(rater: User) -> Assignment:
    """The rater's next card, which a test takes to be there."""
    assignment = lease(rater, now=timezone.now())
    assert isinstance(assignment, Assignment), assignment
    return assignment


def given(level: int = 3, **changes: Any) -> Given:
    fields = {"level": level, "quotes": ((Span(0, 33), False),), **changes}
    return Given(**fields)


def rated(rater: User, level: int = 3, **changes: Any) -> Rating:
    """The rater's next card, rated."""
    return rate(leased(rater), given(level, **changes), now=timezone.now())


def vote(senior: User, level: int = 3, **changes: Any) -> Rating:
    """A senior's blind vote on the next nominated response."""
    card = seeding.next_vote(senior, now=timezone.now())
    assert isinstance(card, Assignment), card
    rating, _ = rate_and_lease(card, given(level, **changes), now=timezone.now())
    return rating


def make_seeds(
    number: int, use: str = "live", *, level: int = 3, bank: Bank | None = None, **changes: Any
) -> list[Seed]:
    """So many agreed responses, each nominated, voted on twice and settled."""
    bank = bank or make_bank(bank_data(number))
    wave = make_wave(bank, **changes)
    now = timezone.now()
    assert seeding.nominate(wave, number, make_user(Role.MAINTAINER), now=now) == number
    Slot.objects.filter(wave=wave, state="open").update(state="aside")  # no other work
    seniors = [make_rater(), make_rater()]
    settler = make_user(Role.ADJUDICATOR)
    for norming in Norming.objects.filter(response__run__wave=wave).select_related("response"):
        for senior in seniors:
            card = hand(senior, norming.response, Kind.NORMING, now=now)
            rate(card, given(level), now=now)
        seeding.settle(
            norming,
            settler,
            level=level,
            tolerance=1,
            reasons="It names the weight and stays with her.",
            quotes=[(0, 33, False)],
            use=use,
            now=now,
        )
    return list(Seed.objects.filter(response__run__wave=wave).order_by("pk"))


def make_judge(family: str = "", **changes: Any) -> Judge:
    """A judge of a family of its own, unless another is named."""
    number = next(_numbers)
    subject = Subject.objects.create(
        developer=f"Judging Lab {number}",
        family=family or f"Judging {number}",
        snapshot=f"judging-{number}-2026-01-01",
        provider="demo",
        **changes,
    )
    return Judge.objects.create(name=f"judge-{number}", subject=subject)


Level = Callable[[Response, PanelJudge], int | None]


def make_judging(
    wave: Wave | None = None,
    *,
    judges: int | Sequence[Judge] = 2,
    level: int | Level = 3,
    configuration: str = "panel",
    answered: bool = True,
    **changes: Any,
) -> Judging:
    """A round in which each response of a wave is judged by two judges (or one), taken in turn.

    ``level`` is what a judge gives a response, or a function of both; where it is None, the answer
    is malformed. Every quote is the first 33 code points, found as written. Unless ``answered``,
    the round is planned and nothing is asked.
    """
    wave = wave or make_wave()
    number = next(_numbers)
    rule = {"unfound_percent": 5, "requotes": 1, "per_response": 2, "hard_topics": False}
    rule |= {"per_response": 2 if configuration == "panel" else 1} | changes.pop("rule", {})
    judging = Judging.objects.create(
        wave=wave,
        code=changes.pop("code", f"j{number}"),
        configuration=configuration,
        seed=changes.pop("seed", "7"),
        rule=rule,
        rule_hash=hashlib.sha256(b"").hexdigest(),
        **changes,
    )
    serving = [make_judge() for _ in range(judges)] if isinstance(judges, int) else judges
    panel = [
        PanelJudge.objects.create(judging=judging, judge=judge, number=place)
        for place, judge in enumerate(serving, start=1)
    ]
    responses = Response.objects.of_wave(wave).filter(status=Status.COMPLETED).order_by("pk")
    pairs = cycle(combinations(panel, rule["per_response"]))
    rows = [
        Judgement(
            judging=judging, response=response, panel_judge=one, number=place, position=position
        )
        for position, (response, pair) in enumerate(zip(responses, pairs, strict=False))
        for place, one in enumerate(pair, start=1)
    ]
    Judgement.objects.bulk_create(rows)
    if answered:
        judging.state, judging.started_at = "done", timezone.now()
        judging.ended_at = judging.started_at
        judging.save(update_fields=["state", "started_at", "ended_at"])
        answer(rows, level)
    return judging


def answer(rows: Sequence[Judgement], level: int | Level = 3, **also: Any) -> None:
    """Settle pending judgements, each with a level, or as malformed where there is none."""
    for row in rows:
        given = level if isinstance(level, int) else level(row.response, row.panel_judge)
        row.answered_at = timezone.now()
        if given is None:
            row.state, row.fault_kind, row.fault = "malformed", "not-json", "It is no JSON."
        else:
            row.state = "answered"
            row.anchor = row.response.item.anchors.get(level=given)
            row.reason = "It stays with the person."
            row.quote_start, row.quote_end = 0, min(33, len(row.response.text))
            row.quote_given = row.response.text[: row.quote_end]
            row.quote_found, row.quote_valid = "verbatim", True
        for name, value in also.items():
            setattr(row, name, value)
        row.save()
