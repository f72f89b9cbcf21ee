"""Have models judge the replies of a wave, beside people and never in their place."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.judges.acts import requote, start
from rating.judges.answers import FAULTS
from rating.judges.planning import (
    UNFOUND_PERCENT,
    JudgingRefused,
    Planned,
    plan_bridge,
    plan_judging,
    registration_of,
)
from rating.judges.rounds import RoundReport, bridge_of, report_of, stop
from rating.judges.tables import Configuration, Judging, Purpose
from rating.judges.validity import Outcome, Validity
from runs.models import Wave


class Command(BaseCommand):
    help = (
        "Have models judge replies, beside people: judge plan, start, status, stop, validity, "
        "requote, bridge"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        plan = steps.add_parser("plan", help="register a round of judging over a wave")
        plan.add_argument("wave")
        plan.add_argument(
            "--judge",
            dest="judges",
            action="append",
            default=[],
            metavar="SUBJECT",
            help="the code of a subject that judges; name each",
        )
        plan.add_argument(
            "--configuration",
            default=Configuration.PANEL.value,
            help="panel (two judges for each response), cross (one) or self (each model its own)",
        )
        plan.add_argument("--seed", default="", help="what who judges what is drawn from")
        plan.add_argument("--code", default="", help="a name for the round; one is made without")
        plan.add_argument("--sample", type=int, metavar="N", help="judge N responses only")
        plan.add_argument(
            "--hard-topics", action="store_true", help="judge responses on hard topics, too"
        )
        plan.add_argument(
            "--unfound-percent",
            default=str(UNFOUND_PERCENT),
            metavar="P",
            help="leave a judge out above P percent of quotes that are not in the replies",
        )
        for step, about in (
            ("start", "begin to ask the judges, or go on"),
            ("status", "how far the rounds of a wave are"),
            ("stop", "ask no more"),
            ("validity", "whether the quotes of each judge are in the replies"),
            ("requote", "ask once more for what could not be used"),
        ):
            sub = steps.add_parser(step, help=about)
            sub.add_argument("wave")
            sub.add_argument(
                "code", nargs="?", default="", help="the round, where there are several"
            )
            if step == "stop":
                sub.add_argument("--reason", required=True)
            if step in ("status", "validity"):
                sub.add_argument("--json", action="store_true", help="print JSON")
        bridge = steps.add_parser(
            "bridge", help="judge a sample of an earlier round again, or show what that told"
        )
        bridge.add_argument("wave")
        bridge.add_argument("code", nargs="?", default="", help="a bridge whose figures to show")
        bridge.add_argument("--of", default="", metavar="WAVE/ROUND", help="the earlier round")
        bridge.add_argument("--sample", type=int, metavar="N", default=24)
        bridge.add_argument("--seed", default="")
        bridge.add_argument("--new-code", default="", help="a name for the bridge")

    def handle(self, *args: Any, step: str, wave: str, **options: Any) -> None:
        try:
            found = _wave(wave)
            getattr(self, f"{step}_")(found, **{name: options[name] for name in STEPS[step]})
        except JudgingRefused as why:
            raise CommandError("\n".join(why.faults)) from None

    def plan_(
        self,
        wave: Wave,
        judges: list[str],
        configuration: str,
        seed: str,
        code: str,
        sample: int | None,
        hard_topics: bool,
        unfound_percent: str,
    ) -> None:
        try:
            percent = Decimal(unfound_percent)
        except InvalidOperation:
            raise JudgingRefused(
                f"{unfound_percent!r} is no percentage; write a number, such as 5."
            ) from None
        if not percent.is_finite():
            raise JudgingRefused(
                f"{unfound_percent!r} is no percentage; write a number, such as 5."
            )
        self._registered(
            plan_judging(
                wave,
                judges,
                configuration=configuration,
                seed=seed,
                code=code,
                size=sample,
                hard_topics=hard_topics,
                unfound_percent=percent,
            )
        )

    def bridge_(
        self, wave: Wave, code: str, of: str, sample: int, seed: str, new_code: str
    ) -> None:
        if of:
            other, _, earlier = of.partition("/")
            source = _judging(_wave(other), earlier, Purpose.JUDGING)
            self._registered(plan_bridge(wave, source, size=sample, seed=seed, code=new_code))
            return
        judging = _judging(wave, code, Purpose.BRIDGE)
        self.stdout.write(f"{judging}, a bridge to {judging.bridge_of}. In no mean.")
        for one in bridge_of(judging):
            if one.pairs:
                self.stdout.write(
                    f"{one.judge}: {one.pairs} pairs, {one.exact} the same; moved by "
                    f"{one.mean_absolute:.2f} levels on average, by {one.largest_absolute} at most; "
                    f"new less earlier {one.signed_mean:+.2f}."
                )
            else:
                self.stdout.write(f"{one.judge}: no response was judged in both rounds.")

    def start_(self, wave: Wave, code: str) -> None:
        judging = start(_judging(wave, code))
        waiting = judging.judgements.pending().count()
        self.stdout.write(f"{judging}: {waiting} answers are being asked for.")
        self.stdout.write(f"A worker must run. See how far it is with: judge status {wave}")

    def stop_(self, wave: Wave, code: str, reason: str) -> None:
        judging = _judging(wave, code)
        if not stop(judging, reason):
            raise JudgingRefused(
                f"{judging} is {judging.state}: only what is asked can be stopped."
            )
        self.stdout.write(f"{judging} is stopped. Go on with: judge start {wave} {judging.code}")

    def status_(self, wave: Wave, code: str, json: bool) -> None:
        rounds = [_judging(wave, code)] if code else _rounds(wave)
        if json:
            self.stdout.write(_json([_as_data(one, report_of(one)) for one in rounds]))
            return
        if not rounds:
            self.stdout.write(f"No round of judging is planned for {wave}.")
        for one in rounds:
            for line in _status(one, report_of(one)):
                self.stdout.write(line)

    def validity_(self, wave: Wave, code: str, json: bool) -> None:
        judging = _judging(wave, code)
        report = report_of(judging)
        if json:
            self.stdout.write(_json(_as_data(judging, report)))
            return
        for line in _validity(judging, report):
            self.stdout.write(line)

    def requote_(self, wave: Wave, code: str) -> None:
        judging = _judging(wave, code)
        asked = requote(judging)
        if not asked:
            self.stdout.write(f"{judging}: every answer has a quote that can be used.")
            return
        self.stdout.write(f"{judging}: {asked} answers are asked for once more.")

    def _registered(self, planned: Planned) -> None:
        judging = planned.judging
        self.stdout.write(
            f"{judging} is registered: {planned.responses} responses, "
            f"{judging.judgements.count()} answers, configuration {judging.configuration}."
        )
        for one in judging.panel.select_related("judge__subject"):
            self.stdout.write(f"  {one.judge.name} is {one.judge.subject.code}")
        for load in planned.loads:
            given = ", ".join(f"{name} {number}" for name, number in load.given.items())
            self.stdout.write(f"  of {load.subject}: {given}")
            for name, why in load.kept_out.items():
                if name not in load.given:
                    self.stdout.write(f"    {name} is kept out. {why}")
        overall: dict[str, int] = {}
        for load in planned.loads:
            for name, number in load.given.items():
                overall[name] = overall.get(name, 0) + number
        if overall and max(overall.values()) - min(overall.values()) > 1:
            self.stdout.write("  Loads differ in all, because families are kept apart.")
        for reason, number in planned.left_out.items():
            self.stdout.write(f"  left out, {reason}: {number}")
        self.stdout.write(f"About {planned.tokens:,} tokens will be sent.")
        self.stdout.write(f"Rule and plan have the hash {judging.rule_hash}.")
        self.stdout.write(f"Begin with: judge start {judging.wave} {judging.code}")


STEPS = {
    "plan": (
        "judges",
        "configuration",
        "seed",
        "code",
        "sample",
        "hard_topics",
        "unfound_percent",
    ),
    "start": ("code",),
    "status": ("code", "json"),
    "stop": ("code", "reason"),
    "validity": ("code", "json"),
    "requote": ("code",),
    "bridge": ("code", "of", "sample", "seed", "new_code"),
}


def _status(judging: Judging, report: RoundReport) -> Iterator[str]:
    states = ", ".join(f"{number} {state}" for state, number in report.states.items())
    kind = f"{judging.configuration}, bridge" if judging.bridge_of_id else judging.configuration
    yield f"{judging} ({kind}): {judging.state}: {states}"
    if judging.stop_reason:
        yield f"  stopped: {judging.stop_reason}"
    for judge, (tokens_in, tokens_out) in report.tokens.items():
        yield f"  {judge}: {tokens_in:,} tokens sent, {tokens_out:,} received"
    yield from (f"  {why}" for why in report.excluded.values())
    if registration_of(judging) != judging.rule_hash:
        yield "  This round is not as it was registered: its rows give another hash."
    if judging.state == "stopped":
        yield f"  When the cause is gone: judge start {judging.wave} {judging.code}"


def _validity(judging: Judging, report: RoundReport) -> Iterator[str]:
    yield f"{judging}: {judging.state}. {report.outcome.capitalize()}."
    if report.pending:
        yield f"{report.pending} answers are still to come, so nobody is left out yet."
    yield "First answers, which decide:"
    yield from _table(report.first)
    yield from (one.sentence(report.percent) for one in report.first)
    if report.after != report.first:
        yield "After quotes were asked for again, which decides nothing:"
        yield from _table(report.after)
    for why, number in report.not_rerouted.items():
        yield f"{number} responses of an excluded judge went to nobody: {why}"
    if report.faults:
        yield "Answers that could not be used:"
    for kind, number in report.faults.items():
        yield f"  {number:>6,}  {kind}: {FAULTS[kind].partition(':')[0].rstrip('.')}."
    if report.outcome is Outcome.FINDINGS_ONLY:
        yield "Two or more judges are left out: this round tells of the instrument, not of replies."


def _table(measured: tuple[Validity, ...]) -> Iterator[str]:
    yield "  judge        as written  after folding  not found  percent  too short  not used"
    for one in measured:
        percent = "-" if one.percent is None else f"{one.percent:.1f}"
        yield (
            f"  {one.judge:<12} {one.as_written:>10,} {one.after_folding:>14,} {one.unfound:>10,} "
            f"{percent:>8} {one.too_short:>10,} {one.unread:>9,}"
        )


def _as_data(judging: Judging, report: RoundReport) -> Mapping[str, Any]:
    return {
        "round": str(judging),
        "configuration": judging.configuration,
        "purpose": judging.purpose,
        "state": judging.state,
        "stop_reason": judging.stop_reason,
        "rule": judging.rule,
        "rule_hash": judging.rule_hash,
        "as_registered": registration_of(judging) == judging.rule_hash,
        **asdict(report),
        "percent": float(report.percent),
        "first": [{**asdict(one), "percent": one.percent} for one in report.first],
        "after": [{**asdict(one), "percent": one.percent} for one in report.after],
    }


def _json(data: object) -> str:
    return json.dumps(data, indent=2)


def _wave(code: str) -> Wave:
    wave = Wave.objects.select_related("bank").filter(code=code).first()
    if wave is None:
        known = ", ".join(Wave.objects.order_by("code").values_list("code", flat=True))
        way_on = f"the waves are: {known}" if known else "plan one with: run plan FILE"
        raise JudgingRefused(f"There is no wave {code}; {way_on}.")
    return wave


def _rounds(wave: Wave, purpose: str = "") -> list[Judging]:
    rows = Judging.objects.filter(wave=wave).select_related("wave__bank", "bridge_of__wave__bank")
    return list(rows.filter(purpose=purpose) if purpose else rows)


def _judging(wave: Wave, code: str, purpose: str = "") -> Judging:
    """The round of a wave under this code, or its only one."""
    rounds = _rounds(wave, purpose)
    if not code and len(rounds) == 1:
        return rounds[0]
    for one in rounds:
        if one.code == code:
            return one
    known = ", ".join(one.code for one in rounds)
    if not known:
        what = "bridge" if purpose == Purpose.BRIDGE else "round of judging"
        raise JudgingRefused(f"No {what} is planned for {wave}. Plan one with: judge plan {wave}")
    if not code:
        raise JudgingRefused(f"{wave} has several rounds; name one of: {known}.")
    raise JudgingRefused(f"There is no round {code} in {wave}; the rounds are: {known}.")
