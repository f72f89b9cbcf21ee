"""Who rates, what they hold, and what they said of it."""

import secrets
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar, Self

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Count, F, Max, Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from rating.erasures import Erasure  # noqa: F401 - a table of this app
from rating.heartbeats import Heartbeat  # noqa: F401 - a table of this app
from rating.judges.tables import Judge, Judgement, Judging, PanelJudge  # noqa: F401 - tables of this app
from rating.publications import Correction, Export, Publication  # noqa: F401 - tables of this app
from rating.seals import Seal, Touch  # noqa: F401 - tables of this app
from rating.tokens import ApiCall, ApiToken, Elsewhere  # noqa: F401 - tables of this app
from runs.models import Anchor, Bank, Instrument, Item, Response, Wave


class Role(models.TextChoices):
    """The groups a person may belong to, by name."""

    RATER = "rater", "rater"
    ITEM_REVIEWER = "item reviewer", "item reviewer"
    ADJUDICATOR = "adjudicator", "adjudicator"
    MAINTAINER = "maintainer", "maintainer"
    ADMIN = "admin", "admin"


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


def default_languages() -> list[str]:
    return ["en"]


def new_pseudonym() -> str:
    return f"r-{secrets.token_hex(4)}"


def new_key() -> str:
    return secrets.token_hex(16)


# The salt that Django's own hash of a session has.
SESSIONS = "django.contrib.auth.models.AbstractBaseUser.get_session_auth_hash"


class User(AbstractBaseUser, PermissionsMixin):
    """A person, known by address to themselves and admins, and by pseudonym in every export."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100)
    pseudonym = models.CharField(max_length=20, unique=True, default=new_pseudonym, editable=False)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(default=timezone.now)
    languages = models.JSONField(default=default_languages)
    # Seen by its owner and by admins alone: nobody is asked why.
    hard_topics = models.BooleanField(default=False)
    # Known to nobody, and never exported: with the code name, it draws which cards check the rater.
    check_key = models.CharField(max_length=32, default=new_key, editable=False)
    # Gives the blind votes that agreed responses stand on.
    senior = models.BooleanField(default=False)
    # Of ``Expertise``: items about a crisis or an identity need a reviewer who has some.
    expertise = models.JSONField(default=list, blank=True)
    look = models.JSONField(default=dict, blank=True)
    # Whose support line stands at the foot of their pages; blank: the site's own.
    country = models.CharField(max_length=2, blank=True)
    # Ends every session there is when it changes, as a new password does.
    session_salt = models.CharField(max_length=32, blank=True, editable=False)
    # When they asked to be written to once there is work again; none: they did not, or were.
    write_at_work = models.DateTimeField(null=True)
    # When they were last written to: at most once a day.
    work_written_at = models.DateTimeField(null=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="rating_user_one_per_address"),
        ]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def draws_by(self) -> str:
        """What the checks of this rater are drawn from. A code name alone could be worked out."""
        return f"{self.pseudonym} {self.check_key}"

    @cached_property
    def roles(self) -> frozenset[str]:
        return frozenset(group.name for group in self.groups.all())

    @cached_property
    def second_factor(self) -> bool:
        """Whether they sign in with a code beside their password."""
        of_theirs = Authenticator.objects.filter(user=self, type=Authenticator.Type.TOTP)
        found: bool = of_theirs.exists()
        return found

    def get_session_auth_hash(self) -> str:
        return self._sessions_hash(settings.SECRET_KEY)

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        yield from map(self._sessions_hash, settings.SECRET_KEY_FALLBACKS)

    def _sessions_hash(self, secret: str) -> str:
        made_of = f"{self.password}{self.session_salt}"
        return salted_hmac(SESSIONS, made_of, secret=secret, algorithm="sha256").hexdigest()


class Expertise(models.TextChoices):
    """What an admin may mark a person as: somebody who knows such situations from close by."""

    CLINICIAN = "clinician", "clinician"
    LIVED_EXPERIENCE = "lived experience", "lived experience"


class Invitation(models.Model):
    """An address that may join, in which roles. The link to it is signed and ends."""

    email = models.EmailField()
    roles = models.JSONField(default=list)
    invited_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="invitations_sent")
    invited_at = models.DateTimeField(default=timezone.now)
    accepted_by = models.OneToOneField(User, models.PROTECT, null=True, related_name="invitation")
    accepted_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.email


class SlotState(models.TextChoices):
    OPEN = "open", "open"
    HELD = "held", "held"
    RATED = "rated", "rated"
    ASIDE = "aside", "set aside"
    CLOSED = "closed", "closed, because rating has closed"


class Slot(models.Model):
    """One of the two ratings a response needs.

    ``partner`` is who gave the other rating, once the response is half rated.
    The columns from ``wave`` on never change: they repeat what the queue would have to join for.
    """

    response = models.ForeignKey(Response, models.PROTECT, related_name="slots")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=6, choices=SlotState, default=SlotState.OPEN)
    draw = models.BigIntegerField()
    partner = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    wave = models.ForeignKey(Wave, models.PROTECT, related_name="+")
    item_id = models.BigIntegerField()
    pair_id = models.BigIntegerField(null=True)
    topic = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=20, default="en")
    # What balance is kept over: the subject, and the arm it answers (0 where there are no pairs).
    subject_id = models.BigIntegerField(default=0)
    arm = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["response", "number"], name="rating_slot_one_per_number"
            ),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2]), name="rating_slot_is_first_or_second"
            ),
            models.CheckConstraint(
                condition=Q(state__in=SlotState.values), name="rating_slot_state_is_known"
            ),
        ]
        indexes = [
            # A look leaps from wave to wave and from partner to partner, then reads the first few.
            models.Index(
                fields=["wave", "partner", "draw"],
                condition=Q(state=SlotState.OPEN),
                name="rating_slot_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.response_id}/{self.number}"


class Kind(models.TextChoices):
    COUNTED = "counted", "counted"
    SURPLUS = "surplus", "surplus"
    SEED = "seed", "seed"
    REPEAT = "repeat", "repeat"
    PRACTICE = "practice", "practice"
    QUALIFYING = "qualifying", "qualifying"
    NORMING = "norming", "norming"
    BRIDGE = "bridge", "bridge"


class Outcome(models.TextChoices):
    RATED = "rated", "rated"
    SKIPPED = "skipped", "skipped"
    EXPIRED = "expired", "expired"
    RELEASED = "released", "released"
    WITHDRAWN = "withdrawn", "withdrawn"


class SkipReason(models.TextChoices):
    RATHER_NOT = "rather-not", "I would rather not read this"
    LANGUAGE = "language", "I cannot judge this language"
    CONFLICT = "conflict", "I may know who made it, or I wrote the item"
    BROKEN = "broken", "It is broken or cut off"
    LATER = "later", "Later"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> Self:
        return self.filter(ended_at=None)

    def overdue(self, now: datetime) -> Self:
        return self.live().filter(expires_at__lt=now)


class Assignment(models.Model):
    """A slot in one rater's hands, under a handle that means nothing to anyone else."""

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.COUNTED)
    slot = models.ForeignKey(Slot, models.PROTECT, related_name="assignments", null=True)
    response = models.ForeignKey(Response, models.PROTECT, related_name="assignments")
    rater = models.ForeignKey(User, models.PROTECT, related_name="assignments")
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # Which card of this rater's it is: all that decides whether it checks them. None: before 0004.
    ordinal = models.PositiveIntegerField(null=True)
    # Held, while its rater first goes back to the rating they undid.
    parked = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    skip_reason = models.CharField(max_length=20, choices=SkipReason, blank=True)
    skip_note = models.TextField(blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            # A card that ran out or was put off is taken up again, with its draft: never a second one.
            models.UniqueConstraint(
                fields=["rater", "response", "kind"],
                condition=Q(kind__in=[Kind.COUNTED, Kind.SEED, Kind.REPEAT]),
                name="rating_assignment_one_per_response",
            ),
            models.UniqueConstraint(
                fields=["slot"], condition=Q(ended_at=None), name="rating_assignment_one_per_slot"
            ),
            models.UniqueConstraint(
                fields=["rater"],
                condition=Q(ended_at=None, parked=False),
                name="rating_assignment_one_per_rater",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, outcome="") | Q(ended_at__isnull=False) & ~Q(outcome=""),
                name="rating_assignment_ended_has_outcome",
            ),
            models.CheckConstraint(
                condition=~Q(kind=Kind.COUNTED) | Q(slot__isnull=False),
                name="rating_assignment_counted_has_slot",
            ),
            models.CheckConstraint(
                condition=~Q(outcome=Outcome.SKIPPED) | ~Q(skip_reason=""),
                name="rating_assignment_skipped_has_reason",
            ),
        ]
        indexes = [
            # Serves "not one I have had": by response first, PostgreSQL would walk every slot.
            models.Index(fields=["rater", "response"], name="rating_assignment_had"),
            models.Index(fields=["rater", "leased_at"], name="rating_assignment_recent"),
            models.Index(fields=["rater", "ordinal"], name="rating_assignment_ordinal"),
            models.Index(
                fields=["expires_at"],
                condition=Q(ended_at=None),
                name="rating_assignment_live",
            ),
            # Serves "the card in hand", whatever the number of past ones.
            models.Index(
                fields=["rater", "leased_at"],
                condition=Q(outcome__in=["", Outcome.EXPIRED]),
                name="rating_assignment_in_hand",
            ),
        ]

    def __str__(self) -> str:
        return str(self.code)


class Confidence(models.TextChoices):
    UNSURE = "unsure", "Unsure"
    FAIRLY_SURE = "fairly-sure", "Fairly sure"
    SURE = "sure", "Sure"


class Draft(models.Model):
    """What a rater has put down so far on one card."""

    assignment = models.OneToOneField(Assignment, models.PROTECT, related_name="draft")
    content = models.JSONField(default=dict)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"draft of {self.assignment}"


STANDS = Q(superseded_by=None, withdrawn_at=None)


class RatingQuerySet(models.QuerySet["Rating"]):
    def of_wave(self, wave: Wave) -> Self:
        return self.filter(response__run__wave=wave)

    def counted(self) -> Self:
        """The original independent ratings: all that agreement is computed on."""
        return self.standing().filter(kind=Kind.COUNTED)

    def standing(self) -> Self:
        """Neither superseded nor withdrawn."""
        return self.filter(STANDS)

    def state(self) -> dict[str, Any]:
        """What changes whenever one of these is given, taken out, put back or counted anew."""
        return self.aggregate(
            n=Count("pk"),
            counted=Count("pk", filter=STANDS & Q(kind=Kind.COUNTED)),
            at=Max("rated_at"),
            # One taken out and another put back leave the counts as they were.
            taken=Max("withdrawn_at"),
        )


class Rating(models.Model):
    """The anchor one rater chose for one response. Superseded, never edited.

    Its quotes are stored before it, under its id: a rating without one is refused, and once it
    stands no quote is added.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    response = models.ForeignKey(Response, models.PROTECT, related_name="ratings")
    rater = models.ForeignKey(User, models.PROTECT, related_name="ratings")
    anchor = models.ForeignKey(Anchor, models.PROTECT)
    assignment = models.ForeignKey(Assignment, models.PROTECT, null=True, related_name="ratings")
    kind = models.CharField(max_length=10, choices=Kind)
    slot = models.PositiveSmallIntegerField(null=True)
    note = models.TextField(blank=True)
    confidence = models.CharField(max_length=20, choices=Confidence, blank=True)
    critical_harm = models.BooleanField(default=False)
    harm_line = models.CharField(max_length=500, blank=True)
    active_seconds = models.PositiveIntegerField(null=True)
    # What was ticked beside the level: tags and failure modes of a card that offers them.
    tags = models.JSONField(default=list, blank=True)
    # Said under "More": the item is unclear, the response is cut off, its maker is recognised.
    flags = models.JSONField(default=dict, blank=True)
    superseded_by = models.OneToOneField("self", models.PROTECT, null=True)
    withdrawn_at = models.DateTimeField(null=True)
    rated_at = models.DateTimeField(default=timezone.now)

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                # An unknown slot would make the whole rule unknown, and so allowed.
                condition=Q(kind=Kind.COUNTED, slot__isnull=False, slot__in=[1, 2])
                | ~Q(kind=Kind.COUNTED) & Q(slot=None),
                name="rating_rating_counted_has_slot",
            ),
            models.UniqueConstraint(
                fields=["response", "slot"],
                condition=Q(kind=Kind.COUNTED, superseded_by=None, withdrawn_at=None),
                name="rating_rating_one_per_slot",
            ),
            models.UniqueConstraint(
                fields=["rater", "response"],
                condition=Q(kind=Kind.COUNTED, superseded_by=None, withdrawn_at=None),
                name="rating_rating_one_per_rater",
            ),
            models.UniqueConstraint(
                fields=["assignment"],
                condition=Q(superseded_by=None, withdrawn_at=None),
                name="rating_rating_one_per_assignment",
            ),
            models.CheckConstraint(
                condition=Q(critical_harm=True) | Q(harm_line=""),
                name="rating_rating_harm_line_has_flag",
            ),
        ]
        indexes = [
            # With their time, so that what everybody worked is summed up from here alone.
            models.Index(
                fields=["rater", "rated_at", "active_seconds"], name="rating_rating_of_rater"
            ),
            # Few are of these kinds, and they are looked for among millions.
            models.Index(
                fields=["kind", "rater"],
                condition=~Q(kind=Kind.COUNTED),
                name="rating_rating_not_counted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}"


class Guess(models.Model):
    """Whom a rater took to have made a response they had just rated. Asked once, never edited.

    Not answered while ``answered_at`` is empty; an empty ``maker`` then means "I don't know".
    """

    rating = models.OneToOneField(Rating, models.PROTECT, related_name="guess")
    maker = models.CharField(max_length=100, blank=True)
    sure = models.CharField(max_length=20, choices=Confidence, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(maker="") | Q(answered_at__isnull=False),
                name="rating_guess_maker_is_answered",
            ),
            models.CheckConstraint(
                condition=Q(sure="") | Q(sure__in=Confidence.values) & ~Q(maker=""),
                name="rating_guess_sure_of_a_maker",
            ),
        ]

    def __str__(self) -> str:
        return f"guess on {self.rating_id}"


class Quote(models.Model):
    """Words of a response that earned a level, as code points ``start`` to ``end`` of its text."""

    rating = models.ForeignKey(Rating, models.PROTECT, related_name="quotes")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    absence = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="rating_quote_has_words"),
            models.UniqueConstraint(
                fields=["rating", "start", "end"], name="rating_quote_once_per_rating"
            ),
        ]
        ordering = ["rating", "start"]

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


class Saw(models.TextChoices):
    FIGURES = "figures", "pooled figures"
    RATINGS = "ratings", "single ratings"
    SUBJECTS = "subjects", "figures by subject"


# Whoever has seen one of these of a wave gives no rating of it that counts.
NO_LONGER_BLIND = (Saw.RATINGS, Saw.SUBJECTS)


class Exposure(models.Model):
    """Who has seen what of a wave: the ground on which somebody may no longer rate it."""

    person = models.ForeignKey(User, models.PROTECT, related_name="exposures")
    saw = models.CharField(max_length=10, choices=Saw)
    wave = models.ForeignKey(Wave, models.PROTECT)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["person", "saw"], name="rating_exposure_of_person")]

    def __str__(self) -> str:
        return f"{self.person_id} saw {self.saw} of {self.wave_id}"


class Tally(models.Model):
    """How many standing ratings of a wave a rater has given of one thing: what choices balance.

    Kept by the queue in the same transaction as the ratings, which it can be counted from again.
    """

    class Of(models.TextChoices):
        SUBJECT = "subject", "subject"
        ARM = "arm", "arm"
        PARTNER = "partner", "partner"

    rater = models.ForeignKey(User, models.PROTECT, related_name="tallies")
    wave = models.ForeignKey(Wave, models.PROTECT, related_name="+")
    of = models.CharField(max_length=10, choices=Of)
    which = models.BigIntegerField()
    count = models.IntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rater", "wave", "of", "which"], name="rating_tally_one_per_thing"
            ),
        ]
        indexes = [
            # How many ratings a wave has, of whom: asked by pages, and answered from here alone.
            models.Index(fields=["of", "wave", "rater", "count"], name="rating_tally_of_wave"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} {self.of} {self.which}: {self.count}"


class Conflict(models.Model):
    """What somebody must not rate: what a developer made, or replies to an item they wrote."""

    person = models.ForeignKey(User, models.PROTECT, related_name="conflicts")
    developer = models.CharField(max_length=100, blank=True)
    item_code = models.CharField(max_length=50, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    declared_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(developer="") ^ Q(item_code=""), name="rating_conflict_names_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.developer or self.item_code}"


class Pause(models.Model):
    """A time in which somebody is not given work, why, and what becomes of their earlier ratings."""

    person = models.ForeignKey(User, models.PROTECT, related_name="pauses")
    reason = models.CharField(max_length=500)
    earlier_ratings = models.CharField(max_length=500)
    paused_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    paused_at = models.DateTimeField(default=timezone.now)
    ended_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person"], condition=Q(ended_at=None), name="rating_pause_one_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} from {self.paused_at:%Y-%m-%d}"


class Ended(models.TextChoices):
    """Why an adjudication no longer stands. It stays on record, just as it was."""

    HANDED_OVER = "handed over", "handed over"
    TAKEN_BACK = "taken back", "a rating was taken back"
    NOT_DUE = "not due", "no rule asks for it any more"


class AdjudicationQuerySet(models.QuerySet["Adjudication"]):
    def standing(self) -> Self:
        """Those that hold for their response: at most one of each."""
        return self.filter(ended_at=None)


class Adjudication(models.Model):
    """What an adjudicator decided where two ratings differ. The ratings stay as they were.

    Their own level is kept before they have seen either rating; then they settle. It stands as
    long as both its ratings do, and until it is handed over.
    """

    response = models.ForeignKey(Response, models.PROTECT, related_name="adjudications")
    triggers = models.JSONField(default=list)
    opened_at = models.DateTimeField(default=timezone.now)
    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    adjudicator = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    held_until = models.DateTimeField(null=True)
    own_anchor = models.ForeignKey(Anchor, models.PROTECT, null=True, related_name="+")
    own_at = models.DateTimeField(null=True)
    # The two ratings it is about. Which one is shown as side 1 was drawn by chance at the opening.
    first_side = models.ForeignKey(Rating, models.PROTECT, null=True, related_name="+")
    second_side = models.ForeignKey(Rating, models.PROTECT, null=True, related_name="+")
    anchor = models.ForeignKey(Anchor, models.PROTECT, null=True, related_name="+")
    reason = models.TextField(blank=True)
    guideline_gap = models.BooleanField(default=False)
    harm_upheld = models.BooleanField(null=True)
    settled_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended = models.CharField(max_length=15, choices=Ended, blank=True)

    objects = AdjudicationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["response"],
                condition=Q(ended_at=None),
                name="rating_adjudication_one_stands",
            ),
            models.CheckConstraint(
                condition=Q(first_side__isnull=False, second_side__isnull=False)
                | Q(ended_at__isnull=False),
                name="rating_adjudication_stands_on_two",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, ended="")
                | Q(ended_at__isnull=False, ended__in=["handed over", "taken back", "not due"]),
                name="rating_adjudication_ended_says_why",
            ),
            models.CheckConstraint(
                condition=Q(settled_at=None) | Q(ended__in=["", "taken back"]),
                name="rating_adjudication_settled_stays",
            ),
            models.CheckConstraint(
                condition=Q(settled_at=None)
                | Q(
                    adjudicator__isnull=False,
                    own_anchor__isnull=False,
                    own_at__isnull=False,
                    anchor__isnull=False,
                )
                & ~Q(reason=""),
                name="rating_adjudication_settled_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(own_anchor=None) | Q(adjudicator__isnull=False, own_at__isnull=False),
                name="rating_adjudication_own_level_has_owner",
            ),
        ]
        indexes = [
            models.Index(
                fields=["opened_at"],
                condition=Q(settled_at=None, ended_at=None),
                name="rating_adjudication_due",
            ),
        ]

    def __str__(self) -> str:
        return str(self.code)


class UnblindingQuerySet(models.QuerySet["Unblinding"]):
    def standing(self) -> Self:
        """Asked for and not taken back, whether or not somebody has agreed."""
        return self.filter(taken_back_at=None)


class Unblinding(models.Model):
    """A request to unblind a wave, which a second person agrees to or the first takes back."""

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="unblindings")
    asked_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    reason = models.CharField(max_length=500)
    asked_at = models.DateTimeField(default=timezone.now)
    agreed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    agreed_reason = models.CharField(max_length=500, blank=True)
    agreed_at = models.DateTimeField(null=True)
    taken_back_at = models.DateTimeField(null=True)

    objects = UnblindingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(agreed_by=None) | ~Q(agreed_by=F("asked_by")),
                name="rating_unblinding_two_people",
                violation_error_message="Unblinding takes two different people.",
            ),
            models.CheckConstraint(
                condition=Q(agreed_by=None, agreed_at=None, agreed_reason="")
                | Q(agreed_by__isnull=False, agreed_at__isnull=False) & ~Q(agreed_reason=""),
                name="rating_unblinding_agreed_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(agreed_at=None) | Q(taken_back_at=None),
                name="rating_unblinding_agreed_or_taken_back",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="rating_unblinding_has_reason"),
            models.UniqueConstraint(
                fields=["wave"],
                condition=Q(taken_back_at=None),
                name="rating_unblinding_one_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.wave_id} asked {self.asked_at:%Y-%m-%d}"


class EventKind(models.TextChoices):
    RATE = "rate", "rate"
    UNDO = "undo", "undo"
    VOID = "void", "void"
    RESTORE = "restore", "restore"
    SKIP = "skip", "skip"
    PAUSE = "pause", "pause"
    RESUME = "resume", "resume"
    SETTLE = "settle", "settle"
    LOOK = "look", "look"
    NOMINATE = "nominate", "nominate"
    AGREE = "agree", "agree"
    QUALIFY = "qualify", "qualify"
    END = "end", "end"
    FREEZE = "freeze", "freeze"
    UNBLIND = "unblind", "unblind"
    REVIEW = "review", "review"
    EXPERTISE = "expertise", "expertise"
    PUBLISH = "publish", "publish"
    CORRECT = "correct", "correct"
    MASK = "mask", "mask"
    LOCK = "lock", "lock"
    DEVIATE = "deviate", "deviate"
    START = "start", "start"
    CANCEL = "cancel", "cancel"
    CEILING = "ceiling", "ceiling"
    LEAK = "leak", "leak"
    DELETE = "delete", "delete"
    FACTOR = "factor", "factor"
    TOKEN = "token", "token"
    INVITE = "invite", "invite"
    JOIN = "join", "join"
    EXPORT = "export", "export"
    ERASE = "erase", "erase"
    JUDGE = "judge", "judge"
    ACCESS = "access", "access"


class Event(models.Model):
    """What was done, by whom, to what. Appended only; chained by hash when it is sealed."""

    kind = models.CharField(max_length=10, choices=EventKind)
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    about = models.JSONField(default=dict)
    happened_at = models.DateTimeField(default=timezone.now)
    # Its place in the chain, from 1. Numbers are given before a transaction commits, places when an
    # event is sealed: of two at once, the one with the higher number may be there first.
    place = models.PositiveBigIntegerField(null=True, unique=True)
    previous = models.CharField(max_length=64, blank=True)
    seal = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(seal="", place=None) | Q(~Q(seal=""), place__isnull=False),
                name="rating_event_sealed_in_its_place",
            ),
        ]
        indexes = [
            # Most are of ratings; what else was done is found among them.
            models.Index(fields=["kind", "actor"], name="rating_event_kind"),
            models.Index(fields=["id"], condition=Q(seal=""), name="rating_event_unsealed"),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.kind}"


class Norming(models.Model):
    """A response that is never counted, so that people may agree on it. See ``rating.seeding``."""

    response = models.OneToOneField(Response, models.PROTECT, related_name="norming")
    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    nominated_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    nominated_at = models.DateTimeField(default=timezone.now)
    # Nobody could agree on it, or it teaches nothing.
    left_out_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.code)


class Use(models.TextChoices):
    PRACTICE = "practice", "practice"
    QUALIFICATION = "qualification", "qualification"
    LIVE = "live", "live"


class SeedQuerySet(models.QuerySet["Seed"]):
    def standing(self, use: Use | str) -> Self:
        """Those in use for this, none of them retired."""
        return self.filter(use=use, retired_at=None)

    def of_instrument(self, instrument: str) -> Self:
        return self.filter(response__item__bank__instrument=instrument)


class Seed(models.Model):
    """A response with the level that was agreed for it, after two blind votes, by a third person.

    ``quotes`` holds the agreed quotes as [start, end, absence].
    """

    response = models.OneToOneField(Response, models.PROTECT, related_name="agreed")
    anchor = models.ForeignKey(Anchor, models.PROTECT, related_name="+")
    tolerance = models.PositiveSmallIntegerField(default=1)
    reasons = models.TextField()
    quotes = models.JSONField(default=list)
    use = models.CharField(max_length=15, choices=Use)
    settled_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    agreed_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True)

    objects = SeedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reasons=""), name="rating_seed_has_reasons"),
        ]
        indexes = [
            models.Index(fields=["use"], condition=Q(retired_at=None), name="rating_seed_standing"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}"


class Qualification(models.Model):
    """One attempt of one rater at one instrument, with the rule it was held to."""

    rater = models.ForeignKey(User, models.PROTECT, related_name="qualifications")
    instrument = models.CharField(max_length=30, choices=Instrument)
    items = models.PositiveSmallIntegerField()
    within_one = models.PositiveSmallIntegerField()
    exact = models.PositiveSmallIntegerField()
    # The rule, as it was declared then.
    need_within_one = models.PositiveSmallIntegerField()
    need_exact = models.PositiveSmallIntegerField()
    # How many of them the rater had been given at an earlier attempt.
    seen_before = models.PositiveSmallIntegerField(default=0)
    passed = models.BooleanField()
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["rater", "instrument"], name="rating_qualification_of"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} {self.instrument} {self.passed}"


class ReviewWork(models.Model):
    """One wording of an item, by its content hash, and what its reviewers see beside it.

    A row is locked by whoever takes, sends or takes back a review of this wording.
    """

    content_hash = models.CharField(max_length=64, unique=True)
    # Numbers of completed responses that were set aside unrated: the same ones for every reviewer.
    replies = models.JSONField(default=list)
    opened_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.content_hash[:8]


class ReviewOutcome(models.TextChoices):
    SENT = "sent", "sent"
    SKIPPED = "skipped", "skipped"
    EXPIRED = "expired", "expired"
    RELEASED = "released", "released"


class ReviewSkip(models.TextChoices):
    RATHER_NOT = "rather-not", "I would rather not read this"
    LANGUAGE = "language", "I cannot judge this language"
    CONFLICT = "conflict", "I wrote this item, or helped to"
    LATER = "later", "Later"


class ReviewHoldQuerySet(models.QuerySet["ReviewHold"]):
    def live(self) -> Self:
        return self.filter(ended_at=None)


class ReviewHold(models.Model):
    """An item in one reviewer's hands, in one of its places, and what they have put down so far.

    The places are numbered: two for every wording, and a third where those two do not suffice.
    """

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    work = models.ForeignKey(ReviewWork, models.PROTECT, related_name="holds")
    item = models.ForeignKey(Item, models.PROTECT, related_name="+")
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="review_holds")
    number = models.PositiveSmallIntegerField()
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # Held, while its reviewer first goes back to the review they undid.
    parked = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=ReviewOutcome, blank=True)
    skip_reason = models.CharField(max_length=20, choices=ReviewSkip, blank=True)
    skip_note = models.TextField(blank=True)
    draft = models.JSONField(default=dict, blank=True)
    draft_at = models.DateTimeField(null=True)

    objects = ReviewHoldQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(number__in=[1, 2, 3]), name="rating_reviewhold_one_of_three"
            ),
            models.UniqueConstraint(
                fields=["work", "number"],
                condition=Q(ended_at=None),
                name="rating_reviewhold_one_per_place",
            ),
            models.UniqueConstraint(
                fields=["work", "reviewer"],
                condition=Q(ended_at=None),
                name="rating_reviewhold_one_of_a_wording",
            ),
            models.UniqueConstraint(
                fields=["reviewer"],
                condition=Q(ended_at=None, parked=False),
                name="rating_reviewhold_one_per_reviewer",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, outcome="") | Q(ended_at__isnull=False) & ~Q(outcome=""),
                name="rating_reviewhold_ended_has_outcome",
            ),
            models.CheckConstraint(
                condition=~Q(outcome=ReviewOutcome.SKIPPED) | ~Q(skip_reason=""),
                name="rating_reviewhold_skipped_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return str(self.code)


class Verdict(models.TextChoices):
    VALIDATED = "validated", "Validated"
    NEEDS_REVISION = "needs-revision", "Needs revision"


CRITERIA = ("applicable", "discriminating", "monotonic", "on_construct", "safe_and_accurate")


class ItemReviewQuerySet(models.QuerySet["ItemReview"]):
    def live(self) -> Self:
        """Neither superseded nor taken back."""
        return self.filter(superseded_by=None, withdrawn_at=None)


class ItemReview(models.Model):
    """What one person found of one wording of an item. Superseded or taken back, never edited."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    content_hash = models.CharField(max_length=64)
    item = models.ForeignKey(Item, models.PROTECT, related_name="reviews")
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="item_reviews")
    hold = models.ForeignKey(ReviewHold, models.PROTECT, null=True, related_name="reviews")
    # Its place: the first or second of the two, or the third that settles.
    number = models.PositiveSmallIntegerField()
    applicable = models.BooleanField()
    discriminating = models.BooleanField()
    monotonic = models.BooleanField()
    on_construct = models.BooleanField()
    safe_and_accurate = models.BooleanField()
    # Why a criterion is not met, by its name.
    whys = models.JSONField(default=dict, blank=True)
    verdict = models.CharField(max_length=20, choices=Verdict)
    concern = models.TextField(blank=True)
    minutes = models.PositiveIntegerField()
    # Whether the reviewer was marked with some expertise when they reviewed.
    expert = models.BooleanField(default=False)
    # After a small change: the reviewer's own review of the earlier wording, which they confirm.
    still_stands_of = models.ForeignKey("self", models.PROTECT, null=True, related_name="confirmed")
    superseded_by = models.OneToOneField("self", models.PROTECT, null=True)
    withdrawn_at = models.DateTimeField(null=True)
    reviewed_at = models.DateTimeField(default=timezone.now)

    objects = ItemReviewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["content_hash", "reviewer"],
                condition=Q(superseded_by=None, withdrawn_at=None),
                name="rating_itemreview_one_per_reviewer",
            ),
            models.UniqueConstraint(
                fields=["content_hash", "number"],
                condition=Q(superseded_by=None, withdrawn_at=None),
                name="rating_itemreview_one_per_place",
            ),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2, 3]), name="rating_itemreview_one_of_three"
            ),
            models.CheckConstraint(
                condition=Q(verdict=Verdict.NEEDS_REVISION)
                | Q(verdict=Verdict.VALIDATED, **dict.fromkeys(CRITERIA, True)),
                name="rating_itemreview_no_forces_revision",
            ),
            models.CheckConstraint(
                condition=Q(verdict=Verdict.VALIDATED) | ~Q(concern=""),
                name="rating_itemreview_revision_has_concern",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reviewer_id} on {self.content_hash[:8]}: {self.verdict}"


class BankDraftQuerySet(models.QuerySet["BankDraft"]):
    def open(self) -> Self:
        """Those that have not become a version."""
        return self.filter(frozen_at=None)


class BankDraft(models.Model):
    """The next version of a bank while it is written: the changes that stand on it."""

    base = models.ForeignKey(Bank, models.PROTECT, related_name="drafts")
    begun_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    begun_at = models.DateTimeField(default=timezone.now)
    frozen_as = models.OneToOneField(Bank, models.PROTECT, null=True, related_name="drafted_in")
    frozen_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    frozen_at = models.DateTimeField(null=True)

    objects = BankDraftQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["base"], condition=Q(frozen_at=None), name="rating_bankdraft_one_open"
            ),
            models.CheckConstraint(
                condition=Q(frozen_at=None, frozen_as=None, frozen_by=None)
                | Q(frozen_at__isnull=False, frozen_as__isnull=False, frozen_by__isnull=False),
                name="rating_bankdraft_frozen_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(frozen_as=None) | ~Q(frozen_as=F("base")),
                name="rating_bankdraft_frozen_as_another",
            ),
        ]

    def __str__(self) -> str:
        return f"draft on {self.base}"


class ItemChange(models.Model):
    """What is to be different in one item of the next version, and why.

    ``content`` holds the new text of each changed field, by the names of ``rating.drafting``.
    """

    draft = models.ForeignKey(BankDraft, models.PROTECT, related_name="changes")
    item = models.ForeignKey(Item, models.PROTECT, related_name="+")
    content = models.JSONField()
    reason = models.TextField()
    saved_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    saved_at = models.DateTimeField(default=timezone.now)
    # How often it was saved: whoever sends an older one is told.
    edition = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["draft", "item"], name="rating_itemchange_one_per_item"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="rating_itemchange_has_reason"),
        ]
        ordering = ["draft", "item"]

    def __str__(self) -> str:
        return f"{self.item} in {self.draft_id}"
