"""What the tables of judges refuse beyond their constraints. See ``runs.guards``."""

from typing import Final

from rating.judges.families import UNKNOWN
from rating.judges.tables import Judge, Judgement, Judging, PanelJudge
from runs.guards import Guard, no_change, no_delete

REGISTERED: Final = "A round of judging is registered before its first answer, and never changes."
ONE_ANSWER: Final = "A judgement is never edited: a newer one supersedes it."

NOT_KNOWN = ", ".join(f"'{word}'" for word in UNKNOWN)
MAKERS = (
    "FROM rating_paneljudge p JOIN rating_judging j ON j.id = p.judging_id"
    " JOIN rating_judge u ON u.id = p.judge_id JOIN runs_subject s ON s.id = u.subject_id"
    " JOIN runs_response r ON r.id = NEW.response_id JOIN runs_run n ON n.id = r.run_id"
    " JOIN runs_subject t ON t.id = n.subject_id WHERE p.id = NEW.panel_judge_id"
)
OF_OTHERS = (
    f"EXISTS (SELECT 1 {MAKERS} AND j.configuration <> 'self'"
    f" AND (LOWER(TRIM(s.family)) IN ({NOT_KNOWN}) OR LOWER(TRIM(t.family)) IN ({NOT_KNOWN})"
    " OR LOWER(TRIM(s.family)) = LOWER(TRIM(t.family)) OR s.id = t.id"
    " OR s.digest <> '' AND s.digest = t.digest))"
)
OF_ITSELF = f"EXISTS (SELECT 1 {MAKERS} AND j.configuration = 'self' AND s.id <> t.id)"
OTHER_ROUND = (
    "NOT EXISTS (SELECT 1 FROM rating_paneljudge p"
    " WHERE p.id = NEW.panel_judge_id AND p.judging_id = NEW.judging_id)"
)
NOT_OF_IT = (
    "NOT EXISTS (SELECT 1 FROM rating_judging j JOIN runs_wave w ON w.id = j.wave_id"
    " JOIN runs_response r ON r.id = NEW.response_id JOIN runs_run n ON n.id = r.run_id"
    " JOIN runs_wave v ON v.id = n.wave_id WHERE j.id = NEW.judging_id"
    " AND r.status = 'completed' AND (j.purpose = 'judging' AND v.id = w.id"
    " OR j.purpose = 'bridge' AND v.bank_id = w.bank_id AND EXISTS"
    " (SELECT 1 FROM rating_judgement g WHERE g.judging_id = j.bridge_of_id"
    " AND g.response_id = NEW.response_id)))"
)
UNASKED_FOR = (
    "EXISTS (SELECT 1 FROM rating_judging j JOIN runs_response r ON r.id = NEW.response_id"
    " JOIN runs_item i ON i.id = r.item_id WHERE j.id = NEW.judging_id AND i.topic <> ''"
    " AND COALESCE(CAST(j.rule ->> 'hard_topics' AS TEXT), '') NOT IN ('true', '1'))"
)
ONE_TOO_MANY = (
    "NEW.number > 1 AND (SELECT j.configuration FROM rating_judging j"
    " WHERE j.id = NEW.judging_id) <> 'panel'"
)
BEGUN = "(SELECT j.started_at FROM rating_judging j WHERE j.id = {row}.judging_id) IS NOT NULL"
OTHER_ANCHOR = (
    "NEW.anchor_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs_anchor a"
    " JOIN runs_response r ON r.item_id = a.item_id"
    " WHERE a.id = NEW.anchor_id AND r.id = NEW.response_id)"
)
PAST_THE_END = (
    "NEW.quote_end > (SELECT LENGTH(r.text) FROM runs_response r WHERE r.id = NEW.response_id)"
)
NO_SUCCESSOR = (
    "NEW.provenance <> 'original' AND NOT EXISTS (SELECT 1 FROM rating_judgement g"
    " JOIN rating_paneljudge p ON p.id = g.panel_judge_id WHERE g.superseded_by_id = NEW.id"
    " AND g.id <> NEW.id AND g.judging_id = NEW.judging_id AND g.response_id = NEW.response_id"
    " AND g.number = NEW.number AND g.state <> 'pending'"
    " AND (NEW.provenance = 'requoted' AND g.panel_judge_id = NEW.panel_judge_id"
    " AND g.provenance <> 'requoted'"
    " OR NEW.provenance = 'rerouted' AND g.panel_judge_id <> NEW.panel_judge_id"
    " AND p.excluded_at IS NOT NULL))"
    " OR NEW.provenance = 'original' AND EXISTS"
    " (SELECT 1 FROM rating_judgement g WHERE g.superseded_by_id = NEW.id)"
)
IS_EXCLUDED = (
    "EXISTS (SELECT 1 FROM rating_paneljudge p"
    " WHERE p.id = NEW.panel_judge_id AND p.excluded_at IS NOT NULL)"
)
FIRST_ANSWERS = (
    "FROM rating_judgement g WHERE g.panel_judge_id = NEW.id AND g.provenance = 'original'"
)
NOT_BY_THE_RULE = (
    "NEW.excluded_at IS NOT NULL AND OLD.excluded_at IS NULL AND"
    f" (EXISTS (SELECT 1 {FIRST_ANSWERS} AND g.state = 'pending')"
    f" OR 100 * (SELECT COUNT(*) {FIRST_ANSWERS} AND g.quote_found = 'none')"
    " <= (SELECT CAST(j.rule ->> 'unfound_percent' AS NUMERIC) FROM rating_judging j"
    " WHERE j.id = NEW.judging_id)"
    f" * (SELECT COUNT(*) {FIRST_ANSWERS} AND g.state = 'answered'))"
)
WORK = ("woken_at", "tokens_in", "tokens_out", "failures_in_a_row")
HELD = ("held_by", "held_until", "asked_at")
ANSWER = (
    "state",
    "anchor",
    "answer",
    "quote_given",
    "quote_found",
    "quote_start",
    "quote_end",
    "quote_valid",
    "reason",
    "text",
    "raw",
    "finish_reason",
    "fingerprint",
    "fault_kind",
    "fault",
    "attempts",
    "message_hash",
    "tokens_in",
    "tokens_out",
    "answered_at",
)


def _on_insert(name: str, condition: str, message: str) -> Guard:
    return Guard(f"rating_judgement_{name}", "rating_judgement", "INSERT", condition, message)


GUARDS = [
    no_change(Judge, "What a judge is never changes: name another."),
    no_delete(Judge, "A judge is never deleted."),
    no_change(Judging, REGISTERED, but=("state", "stop_reason", "started_at", "ended_at")),
    no_change(
        Judging,
        "A round of judging is started once.",
        but=("state", "stop_reason", "ended_at"),
        when="OLD.started_at IS NOT NULL",
        name="started_once",
    ),
    no_delete(Judging, "A round of judging is never deleted."),
    Guard(
        "rating_paneljudge_registered",
        "rating_paneljudge",
        "INSERT",
        BEGUN.format(row="NEW"),
        REGISTERED,
    ),
    no_change(PanelJudge, REGISTERED, but=("excluded_at", "reason", *WORK)),
    no_change(
        PanelJudge,
        "A judge that is left out stays so for the whole round.",
        but=WORK,
        when="OLD.excluded_at IS NOT NULL",
        name="excluded_once",
    ),
    Guard(
        "rating_paneljudge_excluded_by_rule",
        "rating_paneljudge",
        "UPDATE",
        NOT_BY_THE_RULE,
        "A judge is left out by the rule that was registered, once all its first answers are in.",
    ),
    no_delete(PanelJudge, REGISTERED),
    _on_insert(
        "other_family",
        OF_OTHERS,
        "No model judges what its own family said; a family that is not known counts as its own.",
    ),
    _on_insert("itself", OF_ITSELF, "In this configuration each model judges its own replies."),
    _on_insert("own_round", OTHER_ROUND, "A judgement is by a judge of its round."),
    _on_insert(
        "of_its_wave",
        NOT_OF_IT,
        "A judgement is of a complete response of its wave, a bridge of one judged before.",
    ),
    _on_insert(
        "hard_topic", UNASKED_FOR, "Responses on hard topics are judged where the plan says so."
    ),
    _on_insert("one_judge", ONE_TOO_MANY, "In this configuration a response has one judge."),
    _on_insert(
        "registered", f"NEW.provenance = 'original' AND {BEGUN.format(row='NEW')}", REGISTERED
    ),
    _on_insert(
        "not_excluded", IS_EXCLUDED, "A judge that is left out is asked nothing more in its round."
    ),
    _on_insert(
        "own_successor",
        NO_SUCCESSOR,
        "A judgement is superseded once: by its own judge, for a better quote, or by another judge"
        " where its own is left out.",
    ),
    *(
        Guard(f"rating_judgement_{name}_{event.lower()}", "rating_judgement", event, when, message)
        for event in ("INSERT", "UPDATE")
        for name, when, message in (
            ("own_anchor", OTHER_ANCHOR, "A level is one of the anchors of the item."),
            ("inside_text", PAST_THE_END, "A quote lies inside the text of the response."),
            (
                "begun",
                f"NEW.state <> 'pending' AND NOT ({BEGUN.format(row='NEW')})",
                "A round of judging is started before anything is answered in it.",
            ),
        )
    ),
    no_change(
        Judgement,
        "What a judgement is of never changes.",
        but=(*ANSWER, *HELD, "superseded_by"),
        name="about_stays",
    ),
    no_change(
        Judgement,
        ONE_ANSWER,
        but=("superseded_by",),
        when="OLD.state <> 'pending'",
    ),
    no_change(
        Judgement,
        "A judgement is superseded once.",
        when="OLD.superseded_by_id IS NOT NULL",
        name="superseded_once",
    ),
    Guard(
        "rating_judgement_no_late_successor",
        "rating_judgement",
        "UPDATE",
        "NEW.superseded_by_id IS NOT NULL AND OLD.superseded_by_id IS NULL AND (OLD.state ="
        " 'pending' OR EXISTS (SELECT 1 FROM rating_judgement g WHERE g.id = NEW.superseded_by_id))",
        "A judgement is superseded by one that is stored after it, in the same step.",
    ),
    no_delete(Judgement, "A judgement is never deleted."),
]
