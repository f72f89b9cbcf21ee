"""A card with all that its page shows, in one statement, and the items as they are kept at hand."""

from datetime import datetime
from uuid import UUID

from rating.at_hand import at_hand
from rating.models import Assignment, Draft, User
from rating.queue.rows import Columns, rows
from runs.models import Item, Response

_assignment = Columns(Assignment, "a")
_draft = Columns(Draft, "d")
_response = Columns(Response, "r", "code", "item_id", "run_id", "text", "mask")
_ASKED = (
    f"SELECT {_assignment.sql}, {_draft.sql}, {_response.sql} FROM rating_assignment a"
    " JOIN runs_response r ON r.id = a.response_id"
    " LEFT JOIN rating_draft d ON d.assignment_id = a.id"
)


def own_card(rater: User, code: UUID) -> Assignment | None:
    """The rater's card under this handle, with its response, item and draft at hand."""
    return _one(f"{_ASKED} WHERE a.code = %s AND a.rater_id = %s", rater, code, rater.pk)


def card_of(rater: User, assignment: int) -> Assignment | None:
    """The rater's card of this number, with its response, item and draft at hand."""
    return _one(f"{_ASKED} WHERE a.id = %s AND a.rater_id = %s", rater, assignment, rater.pk)


def seconds_read(rater: User, since: datetime) -> int:
    """How long the rater has read, by their ratings since then."""
    ((seconds,),) = rows(
        "SELECT COALESCE(SUM(active_seconds), 0) FROM rating_rating"
        " WHERE rater_id = %s AND rated_at > %s",
        rater.pk,
        since,
    )
    return int(seconds)


@at_hand
def item_at_hand(pk: int) -> Item:
    """An item with its anchors. A frozen bank never changes, so no request reads it again."""
    return Item.objects.prefetch_related("anchors").get(pk=pk)


def _one(sql: str, rater: User, *values: object) -> Assignment | None:
    found = rows(sql, *values)
    if not found:
        return None
    row = found[0]
    assignment = _assignment.make(row)
    draft = _draft.make(row[len(_assignment) :])
    response = _response.make(row[len(_assignment) + len(_draft) :])
    assert assignment is not None
    assert response is not None
    response.item = item_at_hand(response.item_id)
    assignment.response, assignment.rater = response, rater
    assignment._state.fields_cache["draft"] = draft
    return assignment
