"""What the tables of this app refuse beyond their constraints. See ``runs.guards``."""

from typing import Literal

from rating.erasures import Erasure
from rating.integrity.declared import fixed_stays, marks
from rating.judges import rules as judges
from rating.models import (
    Adjudication,
    BankDraft,
    Event,
    Exposure,
    Guess,
    ItemReview,
    Norming,
    Qualification,
    Quote,
    Rating,
    Seed,
    Slot,
    Unblinding,
    User,
)
from rating.publications import Correction, Publication
from rating.seals import Seal
from rating.tokens import ApiToken, Elsewhere
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

COUNTED_OF_IT = (
    "EXISTS (SELECT 1 FROM rating_rating g WHERE g.response_id = NEW.response_id"
    " AND g.kind = 'counted' AND g.withdrawn_at IS NULL)"
)
NOMINATED = (
    "NEW.kind = 'counted'"
    " AND EXISTS (SELECT 1 FROM rating_norming n WHERE n.response_id = NEW.response_id)"
)
VOTES = (
    "FROM rating_rating g WHERE g.response_id = NEW.response_id AND g.kind = 'norming'"
    " AND g.withdrawn_at IS NULL"
)
SAW_RATINGS = (
    "NEW.kind = 'counted' AND EXISTS (SELECT 1 FROM rating_exposure e"
    " JOIN runs_run u ON u.wave_id = e.wave_id JOIN runs_response r ON r.run_id = u.id"
    " WHERE r.id = NEW.response_id AND e.person_id = NEW.rater_id"
    " AND e.saw IN ('ratings', 'subjects'))"
)
FROZEN = (
    "EXISTS (SELECT 1 FROM runs_response r JOIN runs_run u ON u.id = r.run_id"
    " JOIN runs_wave w ON w.id = u.wave_id"
    " WHERE r.id = NEW.response_id AND w.ratings_frozen_at IS NOT NULL)"
)
# Cards of the queue: practice, votes and agreed responses go on, since they never count.
OF_THE_QUEUE = "OLD.kind IN ('counted', 'surplus', 'repeat', 'bridge')"
TAKEN_OUT = (
    "(NEW.withdrawn_at IS DISTINCT FROM OLD.withdrawn_at"
    " OR NEW.superseded_by_id IS DISTINCT FROM OLD.superseded_by_id)"
)
TWO_AGREED = (
    "EXISTS (SELECT 1 FROM rating_unblinding n WHERE n.wave_id = NEW.id"
    " AND n.agreed_at IS NOT NULL AND n.taken_back_at IS NULL)"
)
OTHER_SUCCESSOR = (
    "NEW.superseded_by_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rating_rating g"
    " WHERE g.id = NEW.superseded_by_id AND g.id <> NEW.id"
    " AND g.response_id = NEW.response_id AND g.rater_id = NEW.rater_id"
    " AND g.slot IS NOT DISTINCT FROM NEW.slot)"
)
NOT_IN_THE_QUEUE = (
    "NOT EXISTS (SELECT 1 FROM rating_rating g WHERE g.id = NEW.rating_id"
    " AND g.kind IN ('counted', 'surplus', 'seed', 'repeat'))"
)
ASKED_BEFORE = (
    "EXISTS (SELECT 1 FROM rating_guess s JOIN rating_rating g ON g.id = s.rating_id"
    " JOIN rating_rating h ON h.assignment_id = g.assignment_id WHERE h.id = NEW.rating_id)"
)
TWO_OF_IT = (
    "(SELECT COUNT(*) FROM rating_rating g WHERE g.id IN (NEW.first_side_id, NEW.second_side_id)"
    " AND g.response_id = NEW.response_id AND g.kind = 'counted'"
    " AND g.withdrawn_at IS NULL AND g.superseded_by_id IS NULL) = 2"
)
STANDS_ON_IT = (
    "(NEW.withdrawn_at IS NOT NULL OR NEW.superseded_by_id IS NOT NULL)"
    " AND EXISTS (SELECT 1 FROM rating_adjudication j WHERE j.response_id = NEW.response_id"
    " AND j.ended_at IS NULL AND NEW.id IN (j.first_side_id, j.second_side_id))"
)
NO_REVIEWER = (
    "NOT EXISTS (SELECT 1 FROM rating_user_groups m JOIN auth_group g ON g.id = m.group_id"
    " WHERE m.user_id = NEW.reviewer_id AND g.name IN ('item reviewer', 'admin'))"
)
WROTE_IT = (
    "EXISTS (SELECT 1 FROM runs_item i JOIN rating_user u ON u.id = NEW.reviewer_id"
    " WHERE i.id = NEW.item_id AND (NULLIF(LOWER(TRIM(i.details ->> 'author')), '')"
    " IN (LOWER(TRIM(u.name)), LOWER(u.email), LOWER(u.pseudonym))"
    " OR EXISTS (SELECT 1 FROM rating_conflict c"
    " WHERE c.person_id = u.id AND c.item_code = i.code)))"
)
OTHER_WORDING = (
    "NOT EXISTS (SELECT 1 FROM runs_item i"
    " WHERE i.id = NEW.item_id AND i.content_hash = NEW.content_hash)"
)
NO_EXPERTISE = (
    "NEW.expert AND (SELECT u.expertise FROM rating_user u WHERE u.id = NEW.reviewer_id) = '[]'"
)
OF_THE_TWO = (
    "FROM rating_itemreview r WHERE r.content_hash = NEW.content_hash AND r.number IN (1, 2)"
    " AND r.superseded_by_id IS NULL AND r.withdrawn_at IS NULL"
)
TWO_SUFFICE = (
    f"NEW.number = 3 AND ((SELECT COUNT(*) {OF_THE_TWO}) < 2"
    f" OR (SELECT COUNT(DISTINCT r.verdict) {OF_THE_TWO}) = 1"
    f" AND (NOT NEW.expert OR EXISTS (SELECT 1 {OF_THE_TWO} AND r.expert)))"
)
NOT_THEIR_OWN = (
    "NEW.still_stands_of_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rating_itemreview r"
    " WHERE r.id = NEW.still_stands_of_id AND r.reviewer_id = NEW.reviewer_id"
    " AND r.content_hash <> NEW.content_hash)"
)
FOREIGN_SUCCESSOR = (
    "EXISTS (SELECT 1 FROM rating_itemreview r WHERE r.superseded_by_id = NEW.id"
    " AND (r.id = NEW.id OR r.reviewer_id <> NEW.reviewer_id"
    " OR r.content_hash <> NEW.content_hash OR r.number <> NEW.number))"
)
DRAFT_FROZEN = (
    "EXISTS (SELECT 1 FROM rating_bankdraft d WHERE d.id = {row}.draft_id"
    " AND d.frozen_at IS NOT NULL)"
)
OF_ANOTHER_BANK = (
    "NOT EXISTS (SELECT 1 FROM rating_bankdraft d JOIN runs_item i ON i.bank_id = d.base_id"
    " WHERE d.id = NEW.draft_id AND i.id = NEW.item_id)"
)
ON_WRITING: tuple[Literal["INSERT", "UPDATE"], ...] = ("INSERT", "UPDATE")
CHANGES_OF: tuple[tuple[Literal["INSERT", "UPDATE", "DELETE"], tuple[str, ...]], ...] = (
    ("INSERT", ("NEW",)),
    ("UPDATE", ("OLD", "NEW")),
    ("DELETE", ("OLD",)),
)
NEXT_VERSION = "What became a version stays as it was drafted."
# What may still change of an adjudication, by its state.
MOVES = ("triggers", "adjudicator", "held_until", "own_anchor", "own_at", "ended_at", "ended")
DECIDES = ("anchor", "reason", "guideline_gap", "harm_upheld", "settled_at")
BEGUN = ("triggers", "held_until", "ended_at", "ended", *DECIDES)

GUARDS = [
    no_change(
        Slot,
        "What a slot is of never changes.",
        but=("state", "partner"),
    ),
    no_change(
        Rating,
        "A rating is never edited: a newer one supersedes it, or it is withdrawn.",
        but=("superseded_by", "withdrawn_at"),
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
        "Whoever has seen single ratings of a wave, or its key, adds none that counts.",
    ),
    Guard(
        "rating_rating_not_frozen",
        "rating_rating",
        "INSERT",
        f"NEW.kind = 'counted' AND {FROZEN}",
        "The ratings of this wave are frozen: none is counted from now on.",
    ),
    Guard(
        "rating_rating_stays_frozen",
        "rating_rating",
        "UPDATE",
        f"{OF_THE_QUEUE} AND {TAKEN_OUT} AND {FROZEN}",
        "The ratings of this wave are frozen: none is taken back, put back or superseded.",
    ),
    Guard(
        "rating_slot_stays_closed",
        "rating_slot",
        "UPDATE",
        f"NEW.state IN ('open', 'held') AND NEW.state <> OLD.state AND {FROZEN}",
        "The ratings of this wave are frozen: none of its slots opens again.",
    ),
    Guard(
        "rating_unblinding_after_freezing",
        "rating_unblinding",
        "INSERT",
        "NEW.agreed_at IS NOT NULL OR NEW.taken_back_at IS NOT NULL OR NOT EXISTS"
        " (SELECT 1 FROM runs_wave w WHERE w.id = NEW.wave_id"
        " AND w.ratings_frozen_at IS NOT NULL AND w.unblinded_at IS NULL)",
        "Unblinding is asked for once ratings are frozen, by one person alone.",
    ),
    no_change(
        Unblinding,
        "What was asked for stays as it was.",
        but=("agreed_by", "agreed_reason", "agreed_at", "taken_back_at"),
    ),
    no_change(
        Unblinding,
        "What was agreed to, or taken back, stays as it is.",
        when="OLD.agreed_at IS NOT NULL OR OLD.taken_back_at IS NOT NULL",
        name="ended",
    ),
    no_delete(Unblinding, "A request to unblind is never deleted."),
    *(
        Guard(
            f"runs_wave_two_agreed_{event.lower()}",
            "runs_wave",
            event,
            f"NEW.unblinded_at IS NOT NULL AND NEW.kind <> 'local' AND NOT {TWO_AGREED}",
            "Two people must agree before this wave is unblinded.",
        )
        for event in ("INSERT", "UPDATE")
    ),
    no_delete(Rating, "A rating is never deleted."),
    Guard(
        "runs_response_mask_before_rating",
        "runs_response",
        "UPDATE",
        "(NEW.mask IS DISTINCT FROM OLD.mask"
        " OR NEW.mask_decided_at IS DISTINCT FROM OLD.mask_decided_at)"
        " AND (EXISTS (SELECT 1 FROM rating_rating g WHERE g.response_id = OLD.id)"
        " OR EXISTS (SELECT 1 FROM rating_judgement j WHERE j.response_id = OLD.id)"
        " OR EXISTS (SELECT 1 FROM rating_assignment a"
        " WHERE a.response_id = OLD.id AND a.ended_at IS NULL))",
        "What raters see of a response is decided before any of them reads it.",
    ),
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
    no_change(Guess, "What was guessed stays.", but=("maker", "sure", "answered_at")),
    no_change(
        Guess,
        "A guess is answered once.",
        when="OLD.answered_at IS NOT NULL",
        name="answered_once",
    ),
    no_delete(Guess, "What was guessed stays."),
    Guard(
        "rating_guess_in_the_queue",
        "rating_guess",
        "INSERT",
        NOT_IN_THE_QUEUE,
        "A guess is asked for after a rating in the queue alone.",
    ),
    Guard(
        "rating_guess_asked_once",
        "rating_guess",
        "INSERT",
        ASKED_BEFORE,
        "A guess is asked for once about each card.",
    ),
    no_change(Exposure, "What somebody has seen stays on record."),
    no_delete(Exposure, "What somebody has seen stays on record."),
    no_change(
        Adjudication,
        "The level an adjudicator gave before seeing the others is never edited.",
        but=BEGUN,
        when="OLD.own_at IS NOT NULL",
        name="own_level_stays",
    ),
    no_change(
        Adjudication,
        "What is settled is never edited.",
        but=("ended_at", "ended"),
        when="OLD.settled_at IS NOT NULL",
    ),
    no_change(
        Adjudication,
        "What an adjudication is about never changes.",
        but=(*MOVES, *DECIDES),
        name="about_stays",
    ),
    no_change(
        Adjudication,
        "An adjudication that has ended stays as it was.",
        but=("held_until", "ended_at", "ended"),
        when="OLD.ended_at IS NOT NULL",
        name="ended_stays",
    ),
    Guard(
        "rating_adjudication_ended_for_good",
        "rating_adjudication",
        "UPDATE",
        "OLD.ended_at IS NOT NULL AND OLD.ended <> 'taken back'"
        " AND (NEW.ended_at IS NULL OR NEW.ended <> OLD.ended)",
        "What was handed over, or is not due, does not come back.",
    ),
    Guard(
        "rating_adjudication_opened_on_two",
        "rating_adjudication",
        "INSERT",
        f"NEW.ended_at IS NULL AND NOT {TWO_OF_IT}",
        "An adjudication stands on the two counted ratings of its response.",
    ),
    Guard(
        "rating_adjudication_back_on_two",
        "rating_adjudication",
        "UPDATE",
        f"OLD.ended_at IS NOT NULL AND NEW.ended_at IS NULL AND NOT {TWO_OF_IT}",
        "An adjudication comes back with both its ratings.",
    ),
    Guard(
        "rating_rating_settled_upon",
        "rating_rating",
        "UPDATE",
        STANDS_ON_IT,
        "A rating is not taken back while an adjudication stands on it.",
    ),
    no_delete(Adjudication, "An adjudication is never deleted."),
    no_change(Event, "The log is never edited.", but=("place", "previous", "seal")),
    no_change(Event, "The log is never edited.", when="OLD.seal <> ''", name="sealed"),
    no_delete(Event, "The log is never edited."),
    no_change(Norming, "What was nominated stays on record.", but=("left_out_at",)),
    no_delete(Norming, "What was nominated stays on record."),
    Guard(
        "rating_norming_not_counted",
        "rating_norming",
        "INSERT",
        COUNTED_OF_IT,
        "A response with a counted rating is not nominated.",
    ),
    Guard(
        "rating_rating_not_nominated",
        "rating_rating",
        "INSERT",
        NOMINATED,
        "A rating of a nominated response is never counted.",
    ),
    no_change(Seed, "What was agreed is never edited.", but=("retired_at",)),
    no_delete(Seed, "What was agreed is never deleted."),
    Guard(
        "rating_seed_own_anchor",
        "rating_seed",
        "INSERT",
        OWN_ANCHOR,
        "An agreed level is one of the anchors of the item.",
    ),
    Guard(
        "rating_seed_has_two_votes",
        "rating_seed",
        "INSERT",
        f"(SELECT COUNT(DISTINCT g.rater_id) {VOTES}) < 2",
        "A level is agreed after two people have voted.",
    ),
    Guard(
        "rating_seed_settled_by_a_third",
        "rating_seed",
        "INSERT",
        f"EXISTS (SELECT 1 {VOTES} AND g.rater_id = NEW.settled_by_id)",
        "A level is agreed by somebody who did not vote.",
    ),
    no_change(Qualification, "A qualification is never edited."),
    no_delete(Qualification, "A qualification is never deleted."),
    no_change(
        ItemReview,
        "A review is never edited: a newer one supersedes it, or it is taken back.",
        but=("superseded_by", "withdrawn_at"),
    ),
    no_change(
        ItemReview,
        "A review is superseded or taken back once.",
        when="OLD.superseded_by_id IS NOT NULL OR OLD.withdrawn_at IS NOT NULL",
        name="ended_once",
    ),
    no_delete(ItemReview, "A review is never deleted."),
    Guard(
        "rating_itemreview_by_a_reviewer",
        "rating_itemreview",
        "INSERT",
        NO_REVIEWER,
        "An item is reviewed by an item reviewer or an admin.",
    ),
    Guard(
        "rating_itemreview_not_own_item",
        "rating_itemreview",
        "INSERT",
        WROTE_IT,
        "Whoever wrote an item does not review it.",
    ),
    Guard(
        "rating_itemreview_own_wording",
        "rating_itemreview",
        "INSERT",
        OTHER_WORDING,
        "A review is of the wording that its item has.",
    ),
    Guard(
        "rating_itemreview_expert_is_marked",
        "rating_itemreview",
        "INSERT",
        NO_EXPERTISE,
        "Nobody reviews with an expertise that they are not marked with.",
    ),
    Guard(
        "rating_itemreview_third_when_due",
        "rating_itemreview",
        "INSERT",
        TWO_SUFFICE,
        "A third review is given where two do not agree, or neither has the expertise.",
    ),
    Guard(
        "rating_itemreview_confirms_own",
        "rating_itemreview",
        "INSERT",
        NOT_THEIR_OWN,
        "What still stands is one's own review of an earlier wording.",
    ),
    Guard(
        "rating_itemreview_own_successor",
        "rating_itemreview",
        "INSERT",
        FOREIGN_SUCCESSOR,
        "A review is superseded by another of the same reviewer, wording and place.",
        "AFTER",
    ),
    Guard(
        "rating_itemreview_no_late_successor",
        "rating_itemreview",
        "UPDATE",
        "NEW.superseded_by_id IS NOT NULL AND OLD.superseded_by_id IS NULL AND EXISTS"
        " (SELECT 1 FROM rating_itemreview r WHERE r.id = NEW.superseded_by_id)",
        "A review is superseded by one that is stored after it, in the same step.",
    ),
    no_change(BankDraft, NEXT_VERSION, when="OLD.frozen_at IS NOT NULL"),
    no_change(
        BankDraft,
        "A draft stays the draft of its version.",
        but=("frozen_as", "frozen_by", "frozen_at"),
        name="base_stays",
    ),
    no_delete(BankDraft, NEXT_VERSION, when="OLD.frozen_at IS NOT NULL"),
    *(
        Guard(
            f"rating_itemchange_{event.lower()}_before_frozen",
            "rating_itemchange",
            event,
            " OR ".join(DRAFT_FROZEN.format(row=row) for row in rows),
            NEXT_VERSION,
        )
        for event, rows in CHANGES_OF
    ),
    *(
        Guard(
            f"rating_itemchange_{event.lower()}_of_its_bank",
            "rating_itemchange",
            event,
            OF_ANOTHER_BANK,
            "A change is to an item of the version that the draft stands on.",
        )
        for event in ON_WRITING
    ),
    no_change(Publication, "What was published stays as it was: append a correction."),
    no_delete(Publication, "What was published stays as it was: append a correction."),
    Guard(
        "rating_publication_of_an_unblinded_wave",
        "rating_publication",
        "INSERT",
        "(SELECT w.unblinded_at FROM runs_wave w WHERE w.id = NEW.wave_id) IS NULL",
        "A report is published after its wave was unblinded.",
    ),
    no_change(Correction, "A correction stays as it is: append another."),
    no_delete(Correction, "A correction stays as it is: append another."),
    Guard(
        "rating_correction_of_a_published_wave",
        "rating_correction",
        "INSERT",
        "(SELECT w.published_at FROM runs_wave w WHERE w.id = NEW.wave_id) IS NULL",
        "Only what is published is corrected.",
    ),
    no_change(
        ApiToken,
        "What a token opens never changes: make another.",
        but=("last_used_at", "revoked_at"),
    ),
    no_change(
        ApiToken,
        "A token that was ended stays so.",
        when="OLD.revoked_at IS NOT NULL",
        name="revoked_stays",
    ),
    no_delete(ApiToken, "A token is ended and never deleted."),
    no_change(Elsewhere, "Ratings from elsewhere stay as they came: bring them again, or let go."),
    no_change(Seal, "A seal is never changed."),
    no_delete(Seal, "A seal is never deleted."),
    no_change(Erasure, "What was erased stays on record."),
    no_change(
        User,
        "Who was erased stays so.",
        when="EXISTS (SELECT 1 FROM rating_erasure e WHERE e.person_id = OLD.id)",
        name="erased_stays",
    ),
    no_delete(Erasure, "What was erased stays on record."),
    *judges.GUARDS,
    *(
        fixed_stays(table)
        for table in (
            "auth_group",
            "rating_user",
            "rating_user_groups",
            "rating_invitation",
            "rating_assignment",
            "rating_conflict",
            "rating_pause",
            "rating_reviewwork",
            "rating_reviewhold",
            "rating_itemchange",
            "rating_export",
        )
    ),
]
# What is written is marked, to be sealed. See ``rating.integrity``.
MARKS = marks()
