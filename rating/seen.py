"""What somebody has seen that keeps them from rating. Imports no step of the work: all may ask."""

from django.db.models import Exists, OuterRef, QuerySet

from rating.models import Adjudication, User
from runs.models import Response


def responses_seen_by(person: User) -> QuerySet[Response]:
    """Responses whose ratings this person has seen, as adjudicator: they may never rate them.

    Whatever became of the settling: handed over or ended, what was seen stays seen.
    """
    return Response.objects.filter(
        adjudications__adjudicator=person, adjudications__own_at__isnull=False
    ).distinct()


def has_seen(person: User) -> Exists:
    """Whether this person has seen the ratings of a row's response.

    Asked row by row, by index: whoever has settled 20,000 need not read those for one card.
    """
    return Exists(
        Adjudication.objects.filter(
            adjudicator=person, own_at__isnull=False, response=OuterRef("response")
        )
    )
