"""The rows of a wave out of the database, in the form that figures are computed from."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, Min

from rating.guessing import asked_of, counted_of, unasked_of
from rating.judges.families import Maker, kept_apart
from rating.judges.tables import Answered, Judgement, PanelJudge, Purpose
from rating.models import (
    Adjudication,
    Event,
    EventKind,
    Exposure,
    Qualification,
    Quote,
    Rating,
    Saw,
    Unblinding,
)
from rating.probing import levels_of
from rating.publishing.data import (
    NOT_STATED,
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
from rating.readings import words_of
from rating.reviews import Standing, standings
from runs.canonical import digest
from runs.exposure import Verdict
from runs.models import Bank, Item, Pair, Response, Run, Status, Wave
from runs.probed import contamination_of


def data_of(wave: Wave) -> WaveData:
    """All rows of a wave, in an order that does not depend on the database.

    Raises ``ValueError`` before the wave is unblinded: until then nobody reads who said what.
    """
    if wave.unblinded_at is None:
        raise ValueError(f"{wave} is not unblinded, so no figure by subject is made of it.")
    return rows_of(wave)


def rows_of(wave: Wave) -> WaveData:
    """The same at any time: for the gate, which tells nothing of any subject's levels."""
    served = list(Item.objects.filter(bank=wave.bank, withheld="").order_by("code"))
    pairs = [pair for pair in _pairs(wave.bank) if {pair.a, pair.b} <= {one.code for one in served}]
    return WaveData(
        wave=_wave(wave),
        bank=_bank(wave.bank),
        declared=_declared(wave),
        people=_people(wave),
        items=tuple(_items(served)),
        pairs=tuple(pairs),
        runs=tuple(_runs(wave)),
        replies=tuple(_replies(wave)),
        ratings=tuple(_ratings(wave, told=not any(item.unpublished for item in served))),
        settled=tuple(_settled(wave)),
        probed=tuple(_probed(wave)),
        deviations=tuple(_deviations(wave)),
        earlier=tuple(_earlier(wave)),
        self_naming=Response.objects.of_wave(wave).exclude(self_naming=[]).count(),
        guesses=tuple(_guesses(wave)),
        asking=_asking(wave),
        judges=tuple(_judges(wave)),
    )


def _wave(wave: Wave) -> WaveRow:
    first = Response.objects.of_wave(wave).aggregate(at=Min("completed_at"))["at"]
    agreed = Unblinding.objects.filter(wave=wave, agreed_at__isnull=False).exists()
    return WaveRow(
        code=wave.code,
        title=wave.title,
        kind=wave.kind,
        seed=wave.seed,
        trials=wave.trials,
        preregistration_hash=wave.preregistration_hash,
        locked_at=_moment(wave.locked_at),
        first_reply_at=_moment(first),
        frozen_at=_moment(wave.ratings_frozen_at),
        unblinded_at=_moment(wave.unblinded_at),
        unblinded_by=2 if agreed else 1,
    )


def _bank(bank: Bank) -> BankRow:
    withheld = list(Item.objects.filter(bank=bank).exclude(withheld="").values_list("withheld"))
    chambers = tuple((str(row["code"]), str(row["name"])) for row in bank.meta.get("chambers", []))
    log: list[dict[str, Any]] = bank.meta.get("changelog") or []
    said = [str(row["authoring"]) for row in log if row.get("authoring")]
    return BankRow(
        name=bank.name,
        version=bank.version,
        content_hash=bank.content_hash,
        instrument=bank.get_instrument_display(),
        levels=tuple(bank.levels),
        chambers=chambers,
        drafting=" ".join(dict.fromkeys(said)),
        drafts=withheld.count(("draft",)),
        crisis=withheld.count(("crisis topic",)),
    )


def _declared(wave: Wave) -> DeclaredRow:
    """What the plan declared. Its runs go by snapshot and condition, ours by subject."""
    declared = wave.declared
    codes = {
        run.subject.snapshot: run.subject.code
        for run in Run.objects.filter(wave=wave).select_related("subject")
    }
    builds, arms = [], []
    for pair in declared.comparisons:
        (one, condition), (other, another) = _parted(pair.a), _parted(pair.b)
        if pair.kind == "arm":
            arms.append((codes.get(one, one), condition, another))
        else:
            builds.append((codes.get(one, one), codes.get(other, other), condition))
    primary = builds[0][2] if builds else ""
    return DeclaredRow(
        comparisons=tuple((a, b) for a, b, condition in builds if condition == primary)
        if declared.comparisons
        else None,
        primary=primary,
        margin=declared.margin,
        exclusion_rule=declared.exclusion_rule,
        agreement_floor=declared.agreement_floor,
        correction=declared.correction,
        arms=tuple(arms),
        elsewhere=tuple(row for row in builds if row[2] != primary),
    )


def _parted(run: str) -> tuple[str, str]:
    """Snapshot and condition of a run as a plan names it. A snapshot may hold a slash itself."""
    snapshot, _, condition = run.rpartition("/")
    return snapshot, condition


def _deviations(wave: Wave) -> Iterator[DeviationRow]:
    for one in wave.deviations.order_by("number"):
        yield DeviationRow(one.number, _day(one.declared_at), one.after_data, one.text)


def _people(wave: Wave) -> PeopleRow:
    raters = dict(
        Rating.objects.of_wave(wave)
        .counted()
        .order_by()
        .values_list("rater", "rater__pseudonym")
        .distinct()
    )
    qualified = set(
        Qualification.objects.filter(
            rater__in=raters, passed=True, instrument=wave.bank.instrument
        ).values_list("rater", flat=True)
    )
    voided = [
        about["rating"]
        for about in Event.objects.filter(kind=EventKind.VOID).values_list("about", flat=True)
        if "rating" in about
    ]
    return PeopleRow(
        raters=len(raters),
        unqualified=tuple(sorted(name for pk, name in raters.items() if pk not in qualified)),
        excluded_afterwards=Rating.objects.of_wave(wave)
        .filter(pk__in=voided, withdrawn_at__isnull=False)
        .count(),
        no_longer_blind=_no_longer_blind(wave, raters),
    )


def _no_longer_blind(wave: Wave, raters: dict[int, str]) -> tuple[str, ...]:
    """Who rated the wave and saw figures by subject while it was blinded."""
    seen = Exposure.objects.filter(wave=wave, saw=Saw.SUBJECTS, person__in=raters)
    if wave.unblinded_at:
        seen = seen.filter(seen_at__lt=wave.unblinded_at)
    return tuple(sorted({raters[person] for person in seen.values_list("person", flat=True)}))


def _guesses(wave: Wave) -> Iterator[GuessRow]:
    """The questions about counted ratings that stand, in the order in which they were asked."""
    rows = counted_of(wave).order_by(
        "asked_at", "rating__response__code", "rating__rater__pseudonym"
    )
    for rater, response, maker, at in rows.values_list(
        "rating__rater__pseudonym", "rating__response__code", "maker", "answered_at"
    ):
        yield GuessRow(rater, str(response), maker, at is not None)


def _asking(wave: Wave) -> AskingRow:
    return AskingRow(
        percent=settings.GUESS_PERCENT,
        apart=asked_of(wave).count() - counted_of(wave).count(),
        unasked=unasked_of(wave),
    )


def _judges(wave: Wave) -> Iterator[JudgeRow]:
    """Who judged in the rounds that have begun, by round and name; what they gave stays behind.

    A bridge is none of them: it judges replies of an earlier round, which may be of another wave.
    """
    makers = {
        pk: Maker(code, family, digest)
        for pk, code, family, digest in Run.objects.filter(wave=wave).values_list(
            "subject", "subject__code", "subject__family", "subject__digest"
        )
    }
    judged: dict[int, dict[int, int]] = {}
    rows = (
        Judgement.objects.filter(
            judging__wave=wave, judging__purpose=Purpose.JUDGING, state=Answered.ANSWERED
        )
        .order_by()
        .values_list("panel_judge", "response__run__subject")
        .annotate(Count("response", distinct=True))
    )
    for panel, subject, times in rows:
        judged.setdefault(panel, {})[subject] = times
    panels = PanelJudge.objects.filter(
        judging__wave=wave,
        judging__purpose=Purpose.JUDGING,
        judging__started_at__isnull=False,
    ).select_related("judging", "judge__subject")
    for one in sorted(panels, key=lambda own: (own.judging.code, own.judge.name)):
        subject = one.judge.subject
        maker = Maker(subject.code, subject.family, subject.digest)
        counts = judged.get(one.pk, {})
        yield JudgeRow(
            judge=one.judge.name,
            family=subject.family or NOT_STATED,
            round=one.judging.code,
            configuration=one.judging.configuration,
            judged=sum(counts.values()),
            excluded=one.excluded_at is not None,
            own=tuple(sorted(makers[pk].model for pk in counts if kept_apart(maker, makers[pk]))),
        )


def _items(served: list[Item]) -> Iterator[ItemRow]:
    known = standings({item.content_hash for item in served})
    for item in served:
        yield ItemRow(
            item.code,
            item.content_hash,
            item.dimension,
            item.subdimension,
            known[item.content_hash] == Standing.VALIDATED,
            item.unpublished,
        )


def _pairs(bank: Bank) -> list[PairRow]:
    rows = Pair.objects.filter(bank=bank).values_list(
        "code", "chamber", "arm_a__code", "arm_b__code"
    )
    return [PairRow(*row) for row in rows.order_by("code")]


def _runs(wave: Wave) -> Iterator[RunRow]:
    runs = Run.objects.filter(wave=wave).select_related("subject")
    for run in sorted(runs, key=lambda run: (run.subject.code, run.pk)):
        subject = run.subject
        yield RunRow(
            subject=subject.code,
            developer=subject.developer,
            family=subject.family,
            snapshot=subject.snapshot,
            condition=run.condition,
            digest=subject.digest,
            access_tier=subject.access_tier,
            quantisation=subject.quantisation,
            system_message=run.system_message,
            expected=run.expected,
            expected_why=run.expected_why,
            registered_on=str(subject.first_seen_date or _day(subject.registered_at)),
        )


def _replies(wave: Wave) -> list[ReplyRow]:
    words = words_in_replies(wave)
    rows = Response.objects.of_wave(wave).values_list(
        "code",
        "run__subject__code",
        "run__condition",
        "item__code",
        "trial",
        "position",
        "status",
        "self_naming",
    )
    found = [
        ReplyRow(
            str(code),
            subject,
            condition,
            item,
            trial,
            place,
            status,
            words.get(str(code), 0),
            len(naming),
        )
        for code, subject, condition, item, trial, place, status, naming in rows.iterator(
            chunk_size=1000
        )
    ]
    return sorted(found, key=lambda reply: reply.code)


def words_in_replies(wave: Wave) -> dict[str, int]:
    """How long each reply is, kept as long as none comes: reading all texts takes far longer."""
    completed = Response.objects.of_wave(wave).filter(status=Status.COMPLETED)
    key = "words:" + digest([wave.code, str(wave.created_at), completed.count()])
    kept: dict[str, int] | None = cache.get(key)
    if kept is None:
        texts = completed.values_list("code", "text").iterator(chunk_size=500)
        kept = {str(code): len(text.split()) for code, text in texts}
        cache.set(key, kept, 86_400)
    return kept


def _ratings(wave: Wave, *, told: bool) -> list[GivenRow]:
    quotes = words_of(Quote.objects.filter(rating__response__run__wave=wave)) if told else {}
    rows = (
        Rating.objects.of_wave(wave)
        .counted()
        .filter(response__status=Status.COMPLETED)
        .values_list(
            "pk",
            "response__code",
            "rater__pseudonym",
            "slot",
            "anchor__level",
            "critical_harm",
            "tags",
            "rated_at",
        )
    )
    found = [
        GivenRow(
            str(response),
            rater,
            slot or 0,  # a counted rating has one
            level,
            harm,
            tuple(tags),
            _moment(at),
            tuple(words.text for words in quotes.get(pk, ())),
        )
        for pk, response, rater, slot, level, harm, tags, at in rows
    ]
    return sorted(found, key=lambda one: (one.response, one.slot))


def _settled(wave: Wave) -> list[SettledRow]:
    rows = (
        Adjudication.objects.standing()
        .filter(response__run__wave=wave, settled_at__isnull=False)
        .values_list("response__code", "anchor__level", "harm_upheld")
    )
    found = [SettledRow(str(code), level, harm) for code, level, harm in rows]
    return sorted(found, key=lambda row: row.response)


def _probed(wave: Wave) -> Iterator[ProbedRow]:
    for subject, found in contamination_of(wave).items():
        highest = found.highest
        yield ProbedRow(
            subject=subject,
            verdict=found.verdict.value,
            complete=found.verdict != Verdict.INCOMPLETE and not found.missing,
            choices_right=found.right,
            choices=len(found.choices),
            p=found.p,
            highest_overlap=highest.score if highest else None,
            missing=len(found.missing),
            cautions=found.cautions,
        )


def _earlier(wave: Wave) -> Iterator[EarlierRun]:
    """Runs of the same subjects in earlier waves that are unblinded too: for reruns."""
    subjects = Run.objects.filter(wave=wave).values("subject")
    runs = Run.objects.filter(
        wave__unblinded_at__isnull=False, wave__lt=wave.pk, subject__in=subjects
    ).select_related("subject", "wave")
    for run in sorted(runs, key=lambda run: (run.subject.code, run.wave.code, run.condition)):
        levels = {item: tuple(own) for item, own in sorted(levels_of(run).items())}
        yield EarlierRun(
            run.subject.code, f"{run.wave.code}, {run.condition}", run.system_message, levels
        )


def _moment(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat() if at else ""


def _day(at: datetime) -> str:
    day: date = at.astimezone(UTC).date()
    return day.isoformat()
