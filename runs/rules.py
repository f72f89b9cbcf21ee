"""What the tables of this app refuse beyond their constraints. See ``guards``."""

from runs.guards import Guard, no_change, no_delete
from runs.models import (
    Anchor,
    Bank,
    Deviation,
    Item,
    Pair,
    Probe,
    Response,
    Run,
    RunState,
    Status,
    Subject,
    Wave,
)

FROZEN = "This bank is frozen: a bank never changes; import a new version."
BANK_OF_ITEM = "(SELECT b.frozen_at FROM runs_item i JOIN runs_bank b ON b.id = i.bank_id WHERE i.id = {row}.item_id)"


def _frozen(model: type[Anchor] | type[Item] | type[Pair], frozen_at: str) -> list[Guard]:
    """Refuse new, changed and deleted rows of a bank that is frozen."""
    table = model._meta.db_table
    return [
        Guard(
            f"{table}_frozen_{event.lower()}",
            table,
            event,
            " OR ".join(
                f"{frozen_at.format(row=row)} IS NOT NULL"
                for row in ("OLD", "NEW")
                if (event, row) not in {("INSERT", "OLD"), ("DELETE", "NEW")}
            ),
            FROZEN,
        )
        for event in ("INSERT", "UPDATE", "DELETE")
    ]


OF_BANK = "(SELECT b.frozen_at FROM runs_bank b WHERE b.id = {row}.bank_id)"
LOCKED = "OLD.locked_at IS NOT NULL"
WAVE_LOCKED = "(SELECT w.locked_at FROM runs_wave w WHERE w.id = {row}.wave_id) IS NOT NULL"
RUN_LOCKED = (
    "(SELECT w.locked_at FROM runs_run r JOIN runs_wave w ON w.id = r.wave_id"
    " WHERE r.id = {row}.run_id) IS NOT NULL"
)
PLAN_LOCKED = "This plan is locked: it cannot change. Plan a new wave."
STORED = "This response is stored: what a subject said is never changed."
RUN_WORK = (
    "state",
    "stop_reason",
    "started_at",
    "ended_at",
    "woken_at",
    "tokens_in",
    "tokens_out",
    "failures_in_a_row",
    "fingerprints",
)
DEVIATION = "A deviation is never changed or taken away: append another."
WORK_FIELDS = ("held_by", "held_until")
# Decided after the reply has come, and frozen by ``rating`` once somebody reads it.
MASK_FIELDS = ("mask", "mask_decided_at")
REPLY_FIELDS = (
    "status",
    "text",
    "text_hash",
    "raw",
    "finish_reason",
    "fingerprint",
    "usage",
    "attempts",
    "message_hash",
    "completed_at",
    "leak_hits",
    "self_naming",
)
PROBED = "This answer to a probe is stored: what a subject said is never changed."
PUT = "This question of a probe is put: it never changes."
SETTLED = f"OLD.status <> '{Status.PENDING.value}'"

GUARDS = [
    no_change(Bank, FROZEN, when="OLD.frozen_at IS NOT NULL"),
    no_delete(Bank, FROZEN, when="OLD.frozen_at IS NOT NULL"),
    *_frozen(Item, OF_BANK),
    *_frozen(Anchor, BANK_OF_ITEM),
    *_frozen(Pair, OF_BANK),
    no_change(Subject, "A subject's identity never changes: register a new subject."),
    no_delete(Subject, "A subject is never deleted."),
    no_change(
        Wave,
        PLAN_LOCKED,
        but=(
            "ratings_frozen_at",
            "unblinded_at",
            "published_at",
            "cost_ceiling",
            "leak_check",
        ),
        when=LOCKED,
    ),
    Guard(
        "runs_wave_frozen_once",
        "runs_wave",
        "UPDATE",
        "OLD.ratings_frozen_at IS NOT NULL"
        " AND NEW.ratings_frozen_at IS DISTINCT FROM OLD.ratings_frozen_at",
        "Ratings are frozen once: the moment never changes.",
    ),
    Guard(
        "runs_wave_unblinded_once",
        "runs_wave",
        "UPDATE",
        "OLD.unblinded_at IS NOT NULL AND NEW.unblinded_at IS DISTINCT FROM OLD.unblinded_at",
        "A wave is unblinded once: the moment never changes.",
    ),
    Guard(
        "runs_wave_published_once",
        "runs_wave",
        "UPDATE",
        "OLD.published_at IS NOT NULL AND NEW.published_at IS DISTINCT FROM OLD.published_at",
        "A wave is published once: append a correction.",
    ),
    no_delete(Wave, PLAN_LOCKED, when=LOCKED),
    no_change(
        Run,
        PLAN_LOCKED,
        but=RUN_WORK,
        when=WAVE_LOCKED.format(row="OLD"),
    ),
    no_delete(Run, PLAN_LOCKED, when=WAVE_LOCKED.format(row="OLD")),
    Guard(
        "runs_run_no_late_insert", "runs_run", "INSERT", WAVE_LOCKED.format(row="NEW"), PLAN_LOCKED
    ),
    Guard(
        "runs_response_no_late_insert",
        "runs_response",
        "INSERT",
        RUN_LOCKED.format(row="NEW"),
        PLAN_LOCKED,
    ),
    Guard(
        "runs_run_cancelled_for_good",
        "runs_run",
        "UPDATE",
        f"OLD.state = '{RunState.CANCELLED.value}' AND NEW.state <> OLD.state",
        "This run is cancelled, for good: plan a new wave.",
    ),
    no_change(Deviation, DEVIATION),
    no_delete(Deviation, DEVIATION),
    Guard(
        "runs_deviation_in_order",
        "runs_deviation",
        "INSERT",
        "NEW.number <> 1 + (SELECT COUNT(*) FROM runs_deviation d WHERE d.wave_id = NEW.wave_id)",
        "Deviations are numbered one after the other.",
    ),
    Guard(
        "runs_deviation_of_a_locked_plan",
        "runs_deviation",
        "INSERT",
        "(SELECT w.locked_at FROM runs_wave w WHERE w.id = NEW.wave_id) IS NULL",
        "Nothing can deviate from a plan that is not locked: change the draft.",
    ),
    no_change(
        Response,
        PLAN_LOCKED,
        but=(*REPLY_FIELDS, *WORK_FIELDS, *MASK_FIELDS),
        when=RUN_LOCKED.format(row="OLD"),
    ),
    no_change(Response, STORED, but=(*WORK_FIELDS, *MASK_FIELDS), when=SETTLED, name="stored"),
    no_delete(Response, "A response is never deleted.", when=RUN_LOCKED.format(row="OLD")),
    no_change(Probe, PUT, but=(*REPLY_FIELDS, "score", *WORK_FIELDS)),
    no_change(Probe, PROBED, but=WORK_FIELDS, when=SETTLED, name="stored"),
    no_delete(Probe, "A probe is never deleted."),
]
