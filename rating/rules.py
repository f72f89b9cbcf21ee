"""What the tables of this app refuse beyond their constraints. See ``runs.guards``."""

from rating.models import Exposure, Quote, Rating, Slot
from runs.guards import Guard, no_change, no_delete

OWN_ANCHOR = (
    "NOT EXISTS (SELECT 1 FROM runs_anchor a JOIN runs_response r ON r.item_id = a.item_id"
    " WHERE a.id = NEW.anchor_id AND r.id = NEW.response_id AND r.status = 'completed')"
)
OWN_ASSIGNMENT = (
    "NOT EXISTS (SELECT 1 FROM rating_assignment a WHERE a.id = NEW.assignment_id"
    " AND a.response_id = NEW.response_id AND a.rater_id = NEW.rater_id)"
)
OF_ITS_QUOTES = "FROM rating_quote q WHERE q.rating_id = NEW.id"
NO_QUOTE = f"(SELECT COUNT(*) {OF_ITS_QUOTES}) = 0"
PAST_THE_END = (
    f'(SELECT MAX(q."end") {OF_ITS_QUOTES})'
    " > (SELECT LENGTH(r.text) FROM runs_response r WHERE r.id = NEW.response_id)"
)
ALREADY_RATED = "EXISTS (SELECT 1 FROM rating_rating g WHERE g.id = NEW.rating_id)"

SAW_RATINGS = (
    "NEW.kind = 'counted' AND EXISTS (SELECT 1 FROM rating_exposure e"
    " JOIN runs_run u ON u.wave_id = e.wave_id JOIN runs_response r ON r.run_id = u.id"
    " WHERE r.id = NEW.response_id AND e.person_id = NEW.rater_id AND e.saw = 'ratings')"
)
OTHER_SUCCESSOR = (
    "NEW.superseded_by_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rating_rating g"
    " WHERE g.id = NEW.superseded_by_id AND g.id <> NEW.id"
    " AND g.response_id = NEW.response_id AND g.rater_id = NEW.rater_id"
    " AND g.slot IS NOT DISTINCT FROM NEW.slot)"
)

GUARDS = [
    no_change(
        Slot,
        "What a slot is of never changes.",
        but=("state", "urgency", "partner"),
    ),
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
    Guard(
        "rating_rating_own_successor",
        "rating_rating",
        "UPDATE",
        OTHER_SUCCESSOR,
        "A rating is superseded by another of the same rater, response and slot.",
    ),
    Guard(
        "rating_rating_saw_none",
        "rating_rating",
        "INSERT",
        SAW_RATINGS,
        "Whoever has seen single ratings of a wave adds none that counts.",
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
        "rating_quote_before_rating",
        "rating_quote",
        "INSERT",
        ALREADY_RATED,
        "A quote is stored before its rating, and none is added to it later.",
    ),
    Guard(
        "rating_rating_has_quote",
        "rating_rating",
        "INSERT",
        NO_QUOTE,
        "A rating carries at least one quote.",
        "AFTER",
    ),
    Guard(
        "rating_rating_quotes_inside_text",
        "rating_rating",
        "INSERT",
        PAST_THE_END,
        "A quote lies inside the text of the response.",
        "AFTER",
    ),
    no_change(Exposure, "What somebody has seen stays on record."),
    no_delete(Exposure, "What somebody has seen stays on record."),
]
