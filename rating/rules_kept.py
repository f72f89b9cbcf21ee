"""The rules of new rows, asked of all rows there are: for data that came in past the guards.

A guard refuses a row when its condition holds at that moment. Where what it looks at does not
change afterwards, no row may be found for which it holds now.
"""

from collections.abc import Iterator

from django.db import connection

from rating.consistency import faults
from rating.events import walk_events
from runs.guards import all_guards, condition_for

# These look at what stood before the row came, and hold of every row once all is in.
OF_THE_MOMENT = {
    "runs_item_frozen_insert",
    "runs_anchor_frozen_insert",
    "runs_pair_frozen_insert",
    "runs_run_no_late_insert",
    "runs_response_no_late_insert",
    "runs_deviation_in_order",
    "rating_quote_before_rating",
    "rating_rating_not_frozen",
    "rating_rating_saw_none",
    "rating_guess_asked_once",
    "rating_adjudication_opened_on_two",
    "rating_norming_not_counted",
    "rating_unblinding_after_freezing",
    "rating_itemreview_third_when_due",
    "rating_itemreview_own_successor",
    "rating_itemchange_insert_before_frozen",
    "runs_wave_two_agreed_insert",
}
# The same said of rows that are in.
LATER = {
    "a rating was counted after its wave was frozen": (
        "FROM rating_rating g JOIN runs_response r ON r.id = g.response_id"
        " JOIN runs_run u ON u.id = r.run_id JOIN runs_wave w ON w.id = u.wave_id"
        " WHERE g.kind = 'counted' AND w.ratings_frozen_at < g.rated_at"
    ),
    "an adjudication stands on ratings that are not the two counted ones of its response": (
        "FROM rating_adjudication j WHERE j.ended_at IS NULL AND NOT EXISTS (SELECT 1"
        " FROM rating_rating a JOIN rating_rating b ON b.id = j.second_side_id"
        " WHERE a.id = j.first_side_id AND a.id <> b.id AND a.response_id = j.response_id"
        " AND b.response_id = j.response_id AND a.kind = 'counted' AND b.kind = 'counted'"
        " AND a.withdrawn_at IS NULL AND b.withdrawn_at IS NULL"
        " AND a.superseded_by_id IS NULL AND b.superseded_by_id IS NULL)"
    ),
    "somebody counted a rating of a wave whose ratings they had seen": (
        "FROM rating_rating g JOIN rating_exposure e ON e.person_id = g.rater_id"
        " AND e.saw IN ('ratings', 'subjects') AND e.seen_at < g.rated_at"
        " JOIN runs_run u ON u.wave_id = e.wave_id"
        " JOIN runs_response r ON r.id = g.response_id AND r.run_id = u.id"
        " WHERE g.kind = 'counted'"
    ),
    "a card is asked about twice": (
        "FROM (SELECT g.assignment_id FROM rating_guess s JOIN rating_rating g ON g.id = s.rating_id"
        " GROUP BY g.assignment_id HAVING COUNT(*) > 1) twice"
    ),
}


def rules_broken() -> Iterator[str]:
    """Every rule that some row breaks, in words; none, where all is well."""
    with connection.cursor() as cursor:
        for guard in all_guards():
            if guard.event != "INSERT" or guard.name in OF_THE_MOMENT:
                continue
            cursor.execute(
                f"SELECT COUNT(*) FROM {guard.table} new WHERE {condition_for(guard.condition, connection.vendor)}"
            )
            if n := cursor.fetchone()[0]:
                yield f"{n} rows of {guard.table}: {guard.message}"
        for what, where in LATER.items():
            cursor.execute(f"SELECT COUNT(*) {where}")
            if n := cursor.fetchone()[0]:
                yield f"{n} times {what}"
    walk = walk_events()
    if walk.broken_at is not None:
        yield f"event {walk.broken_at} is not what was sealed"
    yield from faults()
