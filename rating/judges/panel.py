"""Which judges of a panel judge which response, drawn from a seed, with equal loads.

No model judges its own family. Of the judges that may serve, those with the fewest responses of
this subject and item come first, then of this subject, of this item, of all, and then a draw. All
trials of an item are given out one after the other, which keeps every judge's load for a subject
within one of any other's: who may serve is the same for all responses of a subject.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rating.judges.families import Maker, kept_apart
from runs.canonical import draw


class PanelRefused(ValueError):
    """A panel that cannot serve, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class Place:
    """One response to be judged. ``key`` is its name in the plan, whatever else may name it."""

    key: str
    subject: str
    item: str


@dataclass(frozen=True)
class Load:
    """How many responses of one subject, or of all, each judge was given."""

    subject: str
    given: Mapping[str, int]
    kept_out: Mapping[str, str]

    @property
    def spread(self) -> int:
        """The largest load less the smallest, among those that may judge this subject."""
        return max(self.given.values()) - min(self.given.values())


@dataclass(frozen=True)
class Dealt:
    """Who judges what: for each place its judges, the first of them being number 1."""

    judges: Mapping[str, tuple[str, ...]]
    loads: tuple[Load, ...]

    @property
    def overall(self) -> dict[str, int]:
        """The load of each judge over all subjects. It is unequal where families are kept apart."""
        total: Counter[str] = Counter()
        for load in self.loads:
            total.update(load.given)
        return dict(sorted(total.items()))


def deal(
    places: Sequence[Place],
    judges: Mapping[str, Maker],
    subjects: Mapping[str, Maker],
    *,
    each: int,
    seed: str,
) -> Dealt:
    """Give each place ``each`` different judges.

    Parameters
    ----------
    places : sequence of Place
        The responses, in any order: the result does not depend on it.
    judges, subjects : mapping
        Each judge by its name, each subject by its code, with its maker.
    each : int
        How many judges a response has.
    seed : str
        What ties are drawn from.

    Raises
    ------
    PanelRefused
        Where a subject has too few judges of other families, with the reason for each.
    """
    eligible = {code: _eligible(judges, subjects[code], each) for code in _subjects_of(places)}
    given: dict[str, tuple[str, ...]] = {}
    uses: Counter[tuple[str, ...]] = Counter()
    for place in sorted(places, key=lambda place: _turn(seed, place)):
        scopes = _scopes(place)
        order = {
            name: (*(uses[(*scope, name)] for scope in scopes), draw(seed, f"{place.key}|{name}"))
            for name in eligible[place.subject]
        }
        chosen = tuple(sorted(order, key=order.__getitem__)[:each])
        given[place.key] = chosen
        uses.update((*scope, name) for name in chosen for scope in scopes)
    loads = tuple(
        Load(
            code,
            {name: uses[("subject", code, name)] for name in eligible[code]},
            {
                name: why
                for name, judge in sorted(judges.items())
                if (why := kept_apart(judge, subjects[code]))
            },
        )
        for code in eligible
    )
    return Dealt(given, loads)


def faults_of(
    dealt: Mapping[str, Sequence[str]],
    places: Iterable[Place],
    judges: Mapping[str, Maker],
    subjects: Mapping[str, Maker],
    *,
    each: int,
) -> list[str]:
    """What is wrong with who judges what, found without asking how it was dealt."""
    places = list(places)
    faults = []
    loads: dict[str, Counter[str]] = {}
    for place in places:
        names = dealt.get(place.key, ())
        if len(names) != each or len(set(names)) != each:
            faults.append(f"{place.key} has {len(set(names))} judges, and needs {each}.")
        for name in names:
            if why := kept_apart(judges[name], subjects[place.subject]):
                faults.append(f"{place.key} is given to {name}, and may not be: {why}")
            loads.setdefault(place.subject, Counter())[name] += 1
    if extra := set(dealt) - {place.key for place in places}:
        faults.append(f"{len(extra)} responses are given out that are not to be judged.")
    for code, load in loads.items():
        able = [name for name in judges if not kept_apart(judges[name], subjects[code])]
        share = each * sum(place.subject == code for place in places) / len(able)
        faults += [
            f"{name} judges {load[name]} responses of {code}, where an equal share is {share:g}."
            for name in able
            if abs(load[name] - share) >= 1
        ]
    return faults


def deal_to_themselves(
    places: Sequence[Place], judges: Mapping[str, Maker], subjects: Mapping[str, Maker]
) -> Dealt:
    """Give each place to the judge that is its subject: the configuration *self*."""
    own = {judge.model: name for name, judge in sorted(judges.items())}
    if missing := [code for code in _subjects_of(places) if subjects[code].model not in own]:
        raise PanelRefused(
            *(
                f"No judge is the subject {subjects[code].model}, and in this configuration each judges itself: "
                f"add --judge {subjects[code].model}."
                for code in missing
            )
        )
    given = {place.key: (own[subjects[place.subject].model],) for place in places}
    load = Counter(place.subject for place in places)
    return Dealt(
        given,
        tuple(
            Load(code, {own[subjects[code].model]: load[code]}, {}) for code in _subjects_of(places)
        ),
    )


def left_for(
    judges: Mapping[str, Maker],
    subject: Maker,
    *,
    excluded: Iterable[str],
    taken: Iterable[str],
) -> tuple[str, str]:
    """The one judge that is left for a response, or why it goes to nobody.

    A judge chosen among several would be a choice after the fact, so there must be one alone.
    """
    gone, busy = set(excluded), set(taken)
    able = [
        name
        for name, judge in sorted(judges.items())
        if name not in gone | busy and not kept_apart(judge, subject)
    ]
    if len(able) == 1:
        return able[0], ""
    if not able:
        return "", "No other judge of the panel may judge it."
    return "", (
        f"{len(able)} judges could take it ({', '.join(able)}), and the rule does not say which."
    )


def _eligible(judges: Mapping[str, Maker], subject: Maker, each: int) -> list[str]:
    reasons = {name: kept_apart(judge, subject) for name, judge in sorted(judges.items())}
    able = [name for name, why in reasons.items() if not why]
    if len(able) < each:
        raise PanelRefused(
            f"{subject.model} needs {each} judges of other families, and has {len(able)}.",
            *(f"{name}: {why}" for name, why in reasons.items() if why),
        )
    return able


def _scopes(place: Place) -> tuple[tuple[str, ...], ...]:
    """Where a judge's uses are counted, the narrowest first."""
    return (
        ("both", place.subject, place.item),
        ("subject", place.subject),
        ("item", place.item),
        ("all",),
    )


def _subjects_of(places: Iterable[Place]) -> list[str]:
    return sorted({place.subject for place in places})


def _turn(seed: str, place: Place) -> tuple[str, bytes, str, bytes]:
    """When a place is given out: subject by subject, items by a draw, all trials of one together."""
    return (
        place.subject,
        draw(seed, f"{place.subject}|{place.item}"),
        place.item,
        draw(seed, place.key),
    )
