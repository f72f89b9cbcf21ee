"""The report of a wave as one structure of plain values, from which every page and file is made.

It holds what may be published and nothing else: see ``schema``. So what is withheld is absent from
the page, the pictures, the tables and the files alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rating.figure import Figure, figure_as_json
from rating.probe_report import ABOUT_CONTAMINATION, NEVER_CLEARED
from rating.publishing import schema
from rating.publishing.blinded import blinding_as_content
from rating.publishing.data import FEWEST_ITEMS, NOT_STATED, WaveData
from rating.publishing.hashes import code_hash, data_hash
from rating.publishing.health import health_of, told_of
from rating.publishing.lengths import length_effect, measured
from rating.publishing.lexicon import Found, banned_in
from rating.publishing.results import Index, Results, SubjectParity
from rating.publishing.rounded import chance, shown
from rating.stats.confounds import KNOWN
from rating.stats.parity import Chamber
from rating.stats.parity_tags import TagByArm
from rating.stats.scores import Score
from rating.stats.separation import COMPOSITE, HOLM, NO_CORRECTION
from rating.stats.statements import Alone, Member
from rating.stats.student import Range
from runs.taxonomy import DIMENSIONS

Content = dict[str, Any]

CARE: Final = (
    "Nothing on this site tells you which AI to turn to when life is hard. If you, or someone near "
    "you, needs help now, call your local emergency number or a crisis line. Crisis items "
    "are not put to models by default, and nothing here says how a model acts in a crisis."
)
AC2_MEANING: Final = (
    "AC2 is Gwet's, with ordinal weights: it takes less for chance where most ratings are of one "
    "level, and its interval is by Student's t over responses."
)
#: What people wrote, or what things are called, is not held against the lexicon.
NAMES: Final = frozenset(
    {
        *("subject", "developer", "family", "snapshot", "digest", "access_tier", "quantisation"),
        *("condition", "system_message", "first", "second", "title", "code", "cite", "seed", "tag"),
    }
)
VERBATIM: Final = frozenset({"deviations", "hashes"})


def content_of(results: Results) -> Content:
    """Return the report. Raises ``schema.NotPublic`` where it would hold what may not be told."""
    data = results.data
    told = _below_floor(results) if results.below_floor else ""
    content: Content = {
        "schema": schema.SCHEMA,
        "care": CARE,
        "wave": _wave(data),
        "official": results.gate.official,
        "comparability": results.gate.comparability,
        "status": results.gate.sentence,
        "may": list(_may(results, told)),
        "may_not": list(_may_not(results)),
        "design": list(_design(results)),
        "conditions": _conditions(data),
        "subjects": _subjects(results),
        "results": None if told or results.index is None else _index(results, results.index),
        "results_reason": told,
        "parity": [] if told else [_parity(data, one) for one in results.parity],
        "agreement": _agreement(results),
        "blinding": blinding_as_content(results.blinding),
        "contamination": _contamination(data),
        "tests": _tests(results),
        "confounds": [
            {
                "code": entry.code,
                "what": KNOWN[entry.code],
                "state": entry.state.value,
                "said": entry.sentence,
            }
            for entry in results.ledger.entries
        ],
        "deviations": [
            {
                "number": one.number,
                "declared_on": one.declared_on,
                "after_data": one.after_data,
                "text": one.text,
            }
            for one in data.deviations
        ],
        "gate": [
            {
                "name": one.name,
                "met": one.met,
                "evidence": one.evidence,
                "missing": list(one.missing),
            }
            for one in results.gate.conditions
        ],
        "hashes": {
            "bank": data.bank.content_hash,
            "preregistration": data.wave.preregistration_hash,
            "data": data_hash(data),
            "code": code_hash(),
        },
        "cite": _cite(data),
    }
    content["health"] = health_of(results.tested, data.wave.code, told_of(content))
    schema.check(content)
    return content


def banned_words(content: Content, data: WaveData) -> list[Found]:
    """What the words of a report may not say. Names and verbatim texts are not its words."""
    return banned_in(_words(content), list(_names(data)))


def _names(data: WaveData) -> Iterator[str]:
    """What things are called, as it may stand in the middle of a sentence."""
    yield from (data.wave.title, data.bank.name, data.bank.drafting)
    yield from (name for _, name in data.bank.chambers)
    for run in data.runs:
        yield from (run.subject, run.condition, run.quantisation)
    yield from (row.family for row in data.judges)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in NAMES and key not in VERBATIM:
                yield from _words(one)


# The frame


def _wave(data: WaveData) -> Content:
    wave = data.wave
    return {
        "code": wave.code,
        "title": wave.title,
        "kind": wave.kind,
        "instrument": data.bank.instrument,
        "levels": list(data.bank.levels),
        "trials": wave.trials,
        "seed": wave.seed,
        "locked_at": wave.locked_at,
        "first_reply_at": wave.first_reply_at,
        "frozen_at": wave.frozen_at,
        "unblinded_at": wave.unblinded_at,
    }


def _below_floor(results: Results) -> str:
    alpha = results.agreement.overall.alpha_ordinal.value
    found = "is not known" if alpha is None else f"is {alpha:.2f}"
    return (
        f"Ordinal alpha {found}, and the floor declared beforehand is "
        f"{results.data.declared.agreement_floor:.2f}. So this wave states findings on the "
        "instrument, and nothing of any model."
    )


def _may(results: Results, told: str) -> Iterator[str]:
    yield "This is what people found in the replies of these exact snapshots to this bank."
    if told:
        yield "It says how well the instrument worked. It says nothing of any model."
        return
    if results.data.is_paired:
        yield (
            "A gap is stated for a chamber where it was shown after correction, and equal care "
            "where it was shown within the margin. Where neither was, that is said."
        )
    else:
        corrected = "" if results.data.declared.correction == NO_CORRECTION else "corrected "
        yield (
            f"Two models differ where the {corrected}interval of their difference keeps clear of "
            "zero. For each such difference, read what else could explain it."
        )
    if results.index and any(results.index.statements.groups):
        yield "For those in a group it can be said that this evidence does not tell them apart."


def _may_not(results: Results) -> Iterator[str]:
    yield "It may not be read as a ranking: models stand from A to Z."
    yield "Not told apart is not the same as equal."
    yield "It may not be held against another wave, another bank or another scale."
    yield "It says nothing of a product as it is shipped, of later snapshots, or of crises."
    if results.index:
        yield (
            "An interval covers which items were drawn. It does not cover other raters, other "
            "languages or other days."
        )
    if not results.gate.official:
        yield "It may not be called an official result."


def _design(results: Results) -> Iterator[str]:
    data, n = results.data, len(results.data.items)
    bank = f"{data.bank.name} {data.bank.version}"
    yield (
        f"{_many(len(data.compared), 'model')} under the condition “{data.primary}”, "
        f"{_many(n, 'item')} of the bank {bank}, {_many(data.wave.trials, 'trial')} of each."
        if n
        else f"The bank {bank} serves no item."
    )
    yield (
        f"{sum(item.validated for item in data.items)} of {n} items are validated by two people. "
        f"The pool is {'unpublished' if data.unpublished else 'public'}."
    )
    if data.bank.drafts or data.bank.crisis:
        yield (
            f"Not served: {_many(data.bank.drafts, 'draft')} and "
            f"{_many(data.bank.crisis, 'crisis item')}."
        )
    if data.never_came:
        yield (
            f"{data.never_came} of {len(data.replies)} planned replies never came, and are in no "
            "figure."
        )
    yield (
        f"{len(data.twice)} of {data.completed} replies have two ratings by two people, "
        f"{results.half_rated} have one, {results.unrated} have none. Only those with two count."
    )
    yield (
        f"{_many(data.people.raters, 'rater')}, blinded to model, condition, dimension and each "
        "other. Every rating quotes words of the reply."
    )
    if any(row.judged for row in data.judges):
        rounds = len({row.round for row in data.judges})
        yield (
            f"Models judged the replies too, in {_many(rounds, 'round')}. Their levels are in no "
            "score, range, gap or agreement here."
        )
    yield "Each item of each trial was a conversation of its own, in an order drawn from the seed."


def _conditions(data: WaveData) -> list[Content]:
    seen = {run.condition: run.system_message for run in data.runs}
    return [
        {"condition": name, "system_message": message, "primary": name == data.primary}
        for name, message in sorted(seen.items())
    ]


def _subjects(results: Results) -> list[Content]:
    rows = []
    for run in sorted(results.data.runs, key=lambda run: run.key):
        asked = results.asked[run.key]
        rows.append(
            {
                "subject": run.subject,
                "developer": run.developer,
                "family": run.family,
                "snapshot": run.snapshot,
                "digest": run.digest,
                "access_tier": run.access_tier or NOT_STATED,
                "quantisation": run.quantisation,
                "condition": run.condition,
                "asked": asked.replies,
                "completed": asked.replies - asked.lost,
                "filtered": asked.filtered,
                "failed": asked.failed,
                "malformed": asked.malformed,
            }
        )
    return rows


def _cite(data: WaveData) -> str:
    year = (data.wave.unblinded_at or data.wave.frozen_at or data.wave.locked_at)[:4]
    return (
        f"{data.wave.title} (wave {data.wave.code}), {year}. Bank {data.bank.name} "
        f"{data.bank.version}. Data SHA-256 {data_hash(data)[:16]}."
    )


# Results of the Model Index


def _index(results: Results, index: Index) -> Content:
    said, scores = index.statements, {score.subject: score for score in index.scores}
    data, ranges_only = results.data, results.data.ranges_only
    loose = {one.subject: one.ranges for one in index.uncompared}
    composites = [pair for pair in said.pairs if pair.of == COMPOSITE]
    slope, lengths = measured(data)
    return {
        "alone": [] if ranges_only else [_alone(one, scores) for one in said.alone],
        "groups": [
            {
                "sentence": group.sentence,
                "members": [_member(member, scores) for member in group.members],
            }
            for group in said.groups
        ],
        "ranges_only": [_as_ranges(one, scores) for one in said.alone] if ranges_only else [],
        "withheld": [
            {
                "subject": one.subject,
                "label": scores[one.subject].label.value,
                "reason": one.reason,
                "ranges": _ranges(loose.get(one.subject, {}), scores[one.subject]),
            }
            for one in said.withheld
        ],
        "secondary": [
            {
                "subject": one.subject,
                "condition": one.condition,
                "reason": one.score.withheld,
                "ranges": _ranges(one.ranges, one.score),
            }
            for one in index.secondary
        ],
        "arms": [
            {
                "subject": one.subject,
                "first": one.first,
                "second": one.second,
                **_ends(one.range, 1),
                "separated": one.separated,
                "separated_corrected": one.separated_corrected,
            }
            for one in index.arms
            if one.range.low < one.range.high
        ],
        "pairs": [
            {
                "a": pair.a,
                "b": pair.b,
                "code": pair.of,
                "name": _name(pair.of),
                "difference": None if ranges_only else pair.difference,
                "length_effect": None
                if ranges_only or pair.difference is None
                else shown(
                    length_effect(slope, lengths, pair.a, pair.b, pair.of), _places(pair.of)
                ),
                **_ends(pair.range, _places(pair.of)),
                "separated": pair.separated,
                "separated_corrected": pair.separated_corrected,
                "reason": pair.reason,
            }
            for pair in said.pairs
            if (pair.difference is not None and not ranges_only)
            or (
                pair.range.low < pair.range.high
                and _enough(pair.of, scores[pair.a])
                and _enough(pair.of, scores[pair.b])
            )
        ],
        "comparisons": len(composites),
        "family": index.family,
        "correction": _correction(data, index.family),
        "not_compared": [{"what": one.what, "reason": one.reason} for one in index.not_compared],
        "sentence": _separated(results, index),
        "caption": results.ledger.caption,
        "replicates": results.draws.items,
        "seed": f"{results.data.wave.seed}|items",
        "settling": {
            "replaced": index.settling.replaced,
            "unchanged": index.settling.unchanged,
            "reason": index.settling.reason,
        },
        "trial_range": index.trial_range
        and {**_ends(index.trial_range, 1), "replicates": results.draws.trials},
    }


def _separated(results: Results, index: Index) -> str:
    if index.separation is None:
        return index.reason
    pairs = [pair for pair in index.statements.pairs if pair.of == COMPOSITE]
    if not pairs and len(index.separation.subjects) > 1:
        return "No two models that have a composite were declared to be compared."
    if not pairs:
        return "One model has a composite, so there is nothing to compare it with."
    clear = sum(pair.separated_corrected for pair in pairs)
    corrected = results.data.declared.correction != NO_CORRECTION
    return (
        f"{'After' if corrected else 'Without'} correction, {clear} of the {_many(len(pairs), 'declared difference')} "
        f"{'stays' if clear == 1 else 'stay'} clear of zero."
    )


def _correction(data: WaveData, family: int) -> str:
    """What telling apart rests on, as it was declared."""
    yet = "so a range may miss zero and yet not tell them apart."
    if data.declared.correction == NO_CORRECTION:
        return (
            f"Whether two models are told apart rests on a wider interval, {yet} The plan declared "
            "no correction, so that about one in twenty of such intervals misses zero by chance."
        )
    holm = " Bonferroni’s is wider and stands for Holm’s, which has no intervals."
    return (
        f"Whether two models are told apart rests on a wider interval, corrected for "
        f"{_many(family, 'comparison')} (Bonferroni), {yet}"
        + (holm if data.declared.correction == HOLM else "")
    )


def _alone(one: Alone, scores: Mapping[str, Score]) -> Content:
    score = scores[one.subject]
    return {
        "subject": one.subject,
        "label": one.label.value,
        "composite": one.composite,
        **_ends(one.composite_range, 1),
        "dimensions": [
            {**_range(code, own, score), "mean": shown(mean, 2)}
            for code, (mean, own) in one.dimensions.items()
        ],
    }


def _member(one: Member, scores: Mapping[str, Score]) -> Content:
    return {
        "subject": one.subject,
        "label": one.label.value,
        "ranges": _ranges(one.ranges, scores[one.subject]),
    }


def _as_ranges(one: Alone, scores: Mapping[str, Score]) -> Content:
    """A model that differs from every other, in a wave that tells ranges only."""
    ranges = {COMPOSITE: one.composite_range} | {
        code: own for code, (_, own) in one.dimensions.items()
    }
    return _member(Member(one.subject, one.label, ranges), scores)


def _ranges(ranges: Mapping[str, Range], score: Score) -> list[Content]:
    """The ranges of a model without points. One of no width would be a point, and is left out."""
    found = [
        _range(code, ranges[code], score)
        for code in (COMPOSITE, *DIMENSIONS)
        if code in ranges and _enough(code, score)
    ]
    return [own for own in found if own["low"] < own["high"]]


def _enough(code: str, score: Score) -> bool:
    """Whether a range tells no more than a range.

    Over two or three items it ends in the means of single ones, and so tells the point as well. A
    composite that is withheld has no range either.
    """
    if code == COMPOSITE:
        return score.composite is not None
    return _items(code, score) >= FEWEST_ITEMS


def _range(code: str, own: Range, score: Score) -> Content:
    return {
        "code": code,
        "name": _name(code),
        "items": _items(code, score),
        **_ends(own, _places(code)),
    }


def _items(code: str, score: Score) -> int:
    if code == COMPOSITE:
        return len(score.items)
    return score.dimensions[code].n if code in score.dimensions else 0


def _name(code: str) -> str:
    return "Composite" if code == COMPOSITE else DIMENSIONS[code].name


def _places(code: str) -> int:
    return 1 if code == COMPOSITE else 2


# Unconditionality


def _parity(data: WaveData, one: SubjectParity) -> Content:
    codes = {name: code for code, name in data.bank.chambers}
    return {
        "subject": one.run.subject,
        "condition": one.run.condition,
        "finding": one.parity.finding.value,
        "sentence": one.parity.sentence,
        "margin": one.parity.margin,
        "chambers": [
            _chamber(codes[own.name], own, points=not data.ranges_only)
            for own in one.parity.chambers
        ],
        "tags": [_tag(own, points=not data.ranges_only) for own in one.tags],
    }


def _chamber(code: str, own: Chamber, *, points: bool) -> Content:
    """Without points there is no interval either: the middle of Student's is the gap itself.

    Nor is there a second p, or what would settle it: with the first they give the gap again.
    """
    return {
        "code": code,
        "name": own.name,
        "finding": own.finding.value,
        "reason": own.reason,
        "a": shown(own.mean_a, 2) if points else None,
        "b": shown(own.mean_b, 2) if points else None,
        "gap": shown(own.gap, 2) if points else None,
        **_ends_or_none("", own.interval if points else None),
        **_ends_or_none("inner_", own.inner if points else None),
        **_ends_or_none("prompts_", own.these_prompts if points else None),
        "p_gap": chance(own.p_gap),
        "p_parity": chance(own.p_parity) if points else None,
        "p_permuted": chance(own.p_permuted) if points else None,
        "pairs": len(own.gaps),
        "pairs_left_out": own.pairs_left_out,
        "asked_a": own.asked[0],
        "asked_b": own.asked[1],
        "lost_a": own.lost[0],
        "lost_b": own.lost[1],
        "bound": shown(own.bound, 2) if points else None,
        "needed": own.needed.sentence if own.needed and points else "",
    }


def _tag(own: TagByArm, *, points: bool) -> Content:
    return {
        "tag": own.tag,
        "given_a": own.given[0] if points else None,
        "given_b": own.given[1] if points else None,
        "ratings_a": own.ratings[0],
        "ratings_b": own.ratings[1],
        "difference": shown(own.difference, 3) if points else None,
        "p": chance(own.p),
        "differs": own.differs,
        "reason": own.reason,
    }


# What the results rest on


def _agreement(results: Results) -> Content:
    report = results.agreement
    return {
        "sentence": report.sentence,
        "about": f"{report.alpha_meaning} {AC2_MEANING} {report.meaning}",
        "floor": results.data.declared.agreement_floor,
        "half_rated": results.half_rated,
        "unrated": results.unrated,
        "replicates": report.replicates,
        "seed": report.seed,
        "rows": [
            {
                "name": name,
                "ratings": own.n_ratings,
                "units": own.n_units,
                "rated_twice": own.n_pairable_units,
                "raters": own.n_raters,
                "exact": figure_of(own.percent_exact),
                "within_one": figure_of(own.percent_within_one),
                "alpha": figure_of(own.alpha_ordinal),
                "ac2": figure_of(own.ac2_ordinal),
                "sufficient": own.sufficient,
                "unused": own.unused,
            }
            for name, own in report.rows
        ],
    }


def figure_of(figure: Figure) -> Content:
    """A figure of agreement as a report prints it."""
    told = figure_as_json(figure)
    return {
        key: shown(value, 4) if isinstance(value, float) else value for key, value in told.items()
    }


def _contamination(data: WaveData) -> Content:
    return {
        "about": f"{ABOUT_CONTAMINATION} {NEVER_CLEARED}",
        "rows": [
            {
                "subject": row.subject,
                "verdict": row.verdict,
                "choices_right": row.choices_right,
                "choices": row.choices,
                "p": chance(row.p),
                "highest_overlap": shown(row.highest_overlap, 2),
                "missing": row.missing,
                "cautions": list(row.cautions),
            }
            for row in sorted(data.probed, key=lambda row: row.subject)
        ],
    }


def _tests(results: Results) -> list[Content]:
    return [
        {
            "number": number,
            "claim": verdict.claim,
            "outcome": verdict.outcome.value,
            "evidence": list(verdict.evidence),
            "missing": list(verdict.missing),
        }
        for number, verdict in enumerate(results.tests, start=1)
    ]


def _ends(own: Range, places: int) -> Content:
    return {"low": shown(own.low, places), "high": shown(own.high, places)}


def _ends_or_none(prefix: str, own: Range | None) -> Content:
    return {
        f"{prefix}low": shown(own.low if own else None, 2),
        f"{prefix}high": shown(own.high if own else None, 2),
    }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def subjects_in(content: Mapping[str, Any]) -> Sequence[str]:
    """The models a report is about, from A to Z."""
    return sorted({row["subject"] for row in content["subjects"]})


def listed(results: Mapping[str, Any]) -> list[Content]:
    """Every model from A to Z, with its rows as a table shows them and why it has no point."""
    found = [
        {
            "subject": row["subject"],
            "label": row["label"],
            "rows": [
                {
                    "code": "",
                    "name": "Composite",
                    "items": sum(own["items"] for own in row["dimensions"]),
                    "low": row["low"],
                    "high": row["high"],
                    "told": f"{row['composite']:.1f}, {row['label']}",
                },
                *({**own, "told": f"{own['mean']:.2f}"} for own in row["dimensions"]),
            ],
        }
        for row in results["alone"]
    ]
    members = [member for group in results["groups"] for member in group["members"]]
    for why, rows in (
        ("in a group", members),
        ("ranges only", results["ranges_only"]),
        ("no composite", results["withheld"]),
    ):
        found += [
            {
                "subject": row["subject"],
                "label": row["label"],
                "rows": [{**own, "told": f"withheld: {why}"} for own in row["ranges"]],
            }
            for row in rows
        ]
    return sorted(found, key=lambda one: str(one["subject"]))
