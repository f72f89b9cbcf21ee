"""Writing to those who asked to be told when there is work again: once, and then no more."""

import logging
from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from rating.clock import midnight
from rating.models import Assignment, Pause, Role, User
from rating.queue import Announced, lease, writing

log = logging.getLogger(__name__)

TITLE = "There are responses to rate again"
LETTER = """Hello,

There are responses to rate again.

{link}

You asked to be told this once. Nothing more comes unless you ask again.
"""


def offered() -> bool:
    """Whether somebody can be written to at all, with a link that leads here."""
    return bool(settings.MAIL and settings.SITE_URL)


def ask_for_a_notice(rater: User, *, now: datetime) -> None:
    """Write to them once, as soon as there is something for them to rate."""
    User.objects.filter(pk=rater.pk, write_at_work=None).update(write_at_work=now)


def withdraw_the_notice(rater: User) -> None:
    """Do not write to them after all."""
    User.objects.filter(pk=rater.pk).update(write_at_work=None)


def could_lease(rater: User, now: datetime) -> bool:
    """Whether the queue would give them something to rate. It is asked in earnest, and all undone.

    So no rule of the queue can be forgotten here: pauses, limits of the day, languages, hard
    topics, a fair mix.
    """
    if not rater.is_active or Role.RATER not in rater.roles:
        return False
    with writing():
        found = lease(rater, now=now)
        transaction.set_rollback(True)
    return isinstance(found, Assignment | Announced)


def write_to_those_waiting(now: datetime) -> int:
    """Write to each who waits and could begin; return to how many. Safe to run in many places."""
    if not offered():
        return 0
    waiting = (
        User.objects.filter(write_at_work__isnull=False, is_active=True, groups__name=Role.RATER)
        .filter(Q(work_written_at=None) | Q(work_written_at__lt=midnight(now)))
        .exclude(pk__in=Pause.objects.filter(ended_at=None).values("person"))
        .order_by("write_at_work", "pk")
    )
    return sum(_write_to(rater, now) for rater in waiting)


def _write_to(rater: User, now: datetime) -> bool:
    asked_at = rater.write_at_work
    mine = User.objects.filter(pk=rater.pk, write_at_work=asked_at)
    if Assignment.objects.filter(rater=rater, leased_at__gt=asked_at).exists():
        mine.update(write_at_work=None)  # they have come back by themselves
        return False
    if not could_lease(rater, now):
        return False
    # Of all that look at the same time, one goes on.
    if not mine.update(write_at_work=None, work_written_at=now):
        return False
    link = f"{settings.SITE_URL}{reverse('rating:queue')}"
    try:
        send_mail(TITLE, LETTER.format(link=link), None, [rater.email])
    except OSError as why:  # of the network, and of the server that takes mail
        log.warning("the notice to %s will be tried again: %s", rater.pseudonym, why)
        User.objects.filter(pk=rater.pk, work_written_at=now).update(
            write_at_work=asked_at, work_written_at=rater.work_written_at
        )
        return False
    return True
