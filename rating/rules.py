"""What the tables of this app refuse beyond their constraints. See ``runs.guards``."""

from rating.models import Exposure, Quote, Rating
from runs.guards import Guard, no_change, no_delete

OWN_ANCHOR = (
    "NOT EXISTS (SELECT 1 FROM runs_anchor a JOIN runs_response r ON r.item_id = a.item_id"
    " WHERE a.id = NEW.anchor_id AND r.id = NEW.response_id AND r.status = 'completed')"
)
OWN_ASSIGNMENT = (
    "NOT EXISTS (SELECT 1 FROM rating_assignment a WHERE a.id = NEW.assignment_id"
    " AND a.response_id = NEW.response_id AND a.rater_id = NEW.rater_id)"
)
PAST_THE_END = (
    'NEW."end" > (SELECT LENGTH(r.text) FROM rating_rating g'
    " JOIN runs_response r ON r.id = g.response_id WHERE g.id = NEW.rating_id)"
)

GUARDS = [
    no_change(
        Rating,
        "A rating is never edited: a newer one supersedes it.",
        but=("superseded_by",),
    ),
    no_change(
        Rating,
        "A rating is superseded once.",
        when="OLD.superseded_by_id IS NOT NULL",
        name="superseded_once",
    ),
    no_delete(Rating, "A rating is never deleted."),
    Guard(
        "rating_rating_own_anchor",
        "rating_rating",
        "INSERT",
        OWN_ANCHOR,
        "A level is one of the anchors of the item, and the response is complete.",
    ),
    Guard(
        "rating_rating_own_assignment",
        "rating_rating",
        "INSERT",
        OWN_ASSIGNMENT,
        "A rating belongs to the response and the rater of its assignment.",
    ),
    no_change(Quote, "A quote is never edited."),
    no_delete(Quote, "A quote is never deleted."),
    Guard(
        "rating_quote_inside_text",
        "rating_quote",
        "INSERT",
        PAST_THE_END,
        "A quote lies inside the text of the response.",
    ),
    no_change(Exposure, "What somebody has seen stays on record."),
    no_delete(Exposure, "What somebody has seen stays on record."),
]
