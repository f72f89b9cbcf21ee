"""What somebody has seen that keeps them from rating. Imports no step of the work: all may ask."""

from django.db.models import QuerySet

from rating.models import User
from runs.models import Response


def responses_seen_by(person: User) -> QuerySet[Response]:
    """Responses whose ratings this person has seen, as adjudicator: they may never rate them.

    Whatever became of the settling: handed over or ended, what was seen stays seen.
    """
    return Response.objects.filter(
        adjudications__adjudicator=person, adjudications__own_at__isnull=False
    ).distinct()
