"""What somebody has seen that keeps them from rating. Imports no step of the work: all may ask."""

from django.db.models import QuerySet

from rating.models import User
from runs.models import Response


def responses_seen_by(person: User) -> QuerySet[Response]:
    """Responses whose ratings this person has seen, as adjudicator: they may never rate them."""
    return Response.objects.filter(
        adjudication__adjudicator=person, adjudication__own_at__isnull=False
    )
