"""At least one row in every table that is sealed, as the product or a plain insert stores it."""

from datetime import timedelta
from hashlib import sha256

from django.utils import timezone

from rating import adjudication, queue, reviews
from rating.erasures import Erasure
from rating.models import (
    CRITERIA,
    BankDraft,
    Conflict,
    Event,
    EventKind,
    Exposure,
    Guess,
    Invitation,
    ItemChange,
    Pause,
    Qualification,
    Role,
    Saw,
    SkipReason,
    Verdict,
)
from rating.publications import Correction, Export, Publication
from rating.tokens import ApiToken, Elsewhere
from runs.models import Deviation, Probe, ProbeKind, Status, Wave, WaveKind
from tests.factories import (
    bank_data,
    leased,
    make_bank,
    make_judging,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)
from tests.rating.publishing.waves import unblind

YES = reviews.Given(dict.fromkeys(CRITERIA, True), Verdict.VALIDATED, minutes=5)


def build() -> None:
    now = timezone.now()
    admin, maintainer = make_user(Role.ADMIN), make_user(Role.MAINTAINER)
    make_bank(pair_bank_data(1))

    wave = make_wave(make_bank(bank_data(2)), locked=False)
    wave.kind, wave.locked_at = WaveKind.PILOT, now
    wave.save()
    one, other = make_rater(), make_rater()
    for rater in (one, other):
        Qualification.objects.create(
            rater=rater, instrument="model-index", items=20, within_one=18, exact=12,
            need_within_one=16, need_exact=10, passed=True,
        )  # fmt: skip
    for rater, level in ((one, 1), (one, 1), (other, 5), (other, 5)):
        made = rated(rater, level, note="What a person wrote.")
    Guess.objects.create(rating=made, maker="Dev", sure="sure", answered_at=now)
    assert adjudication.open_for(made.response, now=now + timedelta(hours=1))
    Deviation.objects.create(wave=wave, number=1, text="Late.", after_data=True)
    run = wave.runs.get()
    Probe.objects.create(
        run=run, item=made.response.item, kind=ProbeKind.RECALL, number=1, seed=1, text="No.",
        text_hash="0", status=Status.COMPLETED,
    )  # fmt: skip
    unblind(wave)
    wave.refresh_from_db()
    Publication.objects.create(
        wave=wave, text="{}", text_hash="0", bundle=b"1", reason="Done.", published_by=maintainer
    )
    Event.objects.create(
        kind=EventKind.PUBLISH,
        about={
            "wave": wave.code,
            "report": sha256(b"{}").hexdigest(),
            "bundle": sha256(b"1").hexdigest(),
        },
    )
    Wave.objects.filter(pk=wave.pk).update(published_at=now)
    Correction.objects.create(wave=wave, text="A date.", written_by=maintainer)
    Export.objects.create(wave=wave, asked_by=maintainer)
    Exposure.objects.create(person=maintainer, saw=Saw.SUBJECTS, wave=wave)

    make_wave(make_bank(bank_data(2)))
    skipper = make_rater()
    queue.skip(leased(skipper), SkipReason.LATER, "I am tired.", now=now)
    Conflict.objects.create(person=skipper, developer="Dev", reason="I work there.")
    Pause.objects.create(person=skipper, reason="A talk.", earlier_ratings="They stay.")
    Invitation.objects.create(email="new@example.org", roles=["rater"], invited_by=admin)

    reviewer = make_user(Role.ITEM_REVIEWER)
    hold = reviews.lease(reviewer, now=now)
    reviews.send(hold, YES, now=now)
    hold = reviews.lease(make_user(Role.ITEM_REVIEWER), now=now)
    reviews.skip(hold, "later", "I am tired.", now=now + timedelta(minutes=1))

    draft = BankDraft.objects.create(base=wave.bank, begun_by=admin)
    ItemChange.objects.create(
        draft=draft, item=wave.bank.items.first(), content={"prompt": "New?"}, reason="Clearer.",
        saved_by=admin,
    )  # fmt: skip
    Erasure.objects.create(person=make_rater(), address_hash="0", reason="Asked for it.")

    make_judging()
    ApiToken.objects.create(
        owner=maintainer, name="A script", prefix="cmp_1", secret_hash="0" * 64,
        scopes=["read:progress"], ends_at=now + timedelta(days=9),
    )  # fmt: skip
    Elsewhere.objects.create(
        name="Earlier", source="a file", scale="1-5", rows=[["r1", "u1", 3]], row_count=1,
        raters=1, units=1, sha256="0" * 64, brought_by=maintainer,
    )  # fmt: skip

    # Once there are agreed responses, whoever rates must qualify.
    make_seeds(1)
