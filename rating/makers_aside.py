"""What a worker may be asked to work out of a large wave, by name."""

from datetime import date
from typing import Any

from django.utils import timezone

from rating.agreement_page import AgreementPage, Look, agreement_page
from rating.aside import maker
from rating.breakdown import By, Only
from rating.counted import state_of
from rating.effects import Effects, rater_effects
from rating.gate import Gate
from rating.item_figures import Ratings
from rating.judges.beside import BesidePage, beside_page
from rating.judges.tables import Judging
from rating.publishing import acts
from rating.publishing.content import Content
from rating.severity import PoolEffects, effects_by_instrument
from rating.wave_report import WaveReport, wave_report
from runs.models import Wave


def told_of(look: Look) -> dict[str, Any]:
    """A look as a task carries it."""
    only = look.only
    return {
        "by": look.by.value,
        "page": look.page,
        "dimension": only.dimension,
        "item": only.item,
        "rater": only.rater,
        "other": only.other,
        "first": only.first.isoformat() if only.first else "",
        "last": only.last.isoformat() if only.last else "",
    }


@maker("agreement")
def of_agreement(wave: Wave, **about: Any) -> AgreementPage:
    look = Look(
        By(about["by"]),
        Only(
            dimension=about["dimension"],
            item=about["item"],
            rater=about["rater"],
            other=about["other"],
            first=date.fromisoformat(about["first"]) if about["first"] else None,
            last=date.fromisoformat(about["last"]) if about["last"] else None,
        ),
        about["page"],
    )
    return agreement_page(wave, look, state_of(wave))


@maker("judges")
def of_judges(wave: Wave, **about: Any) -> BesidePage:
    return beside_page(wave, Judging.objects.get(wave=wave, code=about["round"]), state_of(wave))


@maker("report")
def of_report(wave: Wave) -> WaveReport:
    return wave_report(wave)


@maker("content")
def of_content(wave: Wave) -> Content:
    return acts.report_of(wave)


@maker("publishable")
def of_publishable(wave: Wave) -> acts.Prepared:
    return acts.prepare(wave)


@maker("bundle")
def of_bundle(wave: Wave) -> bytes:
    return acts.bundle_of(wave)


@maker("gate")
def of_gate(wave: Wave) -> Gate:
    return acts.gate_of_wave(wave)


@maker("effects")
def of_effects(_: None) -> tuple[Effects, list[PoolEffects]]:
    now = timezone.now()
    return rater_effects(now=now), effects_by_instrument(now=now)


@maker("items")
def of_items(_: None, hashes: list[str]) -> Ratings:
    return Ratings(set(hashes))
