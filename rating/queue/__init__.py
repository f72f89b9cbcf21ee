"""Who holds which response, from the lease to the rating. Every rule of the queue is kept here.

Work is pulled: nobody holds what they have not opened. Each step is one short transaction that
locks, in this order: the rater, the assignment, the slots.
"""

from rating.queue.cards import card_of, own_card, seconds_read
from rating.queue.giving import after, rate, rate_and_lease
from rating.queue.leasing import current, hand, keep_draft, lease, let_go, reclaim, renew, skip
from rating.queue.pausing import pause, resume
from rating.queue.reach import APART, RAN_OUT, had, may_have, open_to, saw_ratings
from rating.queue.slots import open_slots
from rating.queue.taking_back import restore, undo, undoable, void
from rating.queue.words import (
    AlreadyRated,
    Announced,
    Elsewhere,
    Found,
    Given,
    NotHeld,
    NoWork,
    Overtaken,
    Paused,
    TooLate,
)
from rating.queue.writing import lock, log, writing

__all__ = [
    "APART",
    "RAN_OUT",
    "AlreadyRated",
    "Announced",
    "Elsewhere",
    "Found",
    "Given",
    "NoWork",
    "NotHeld",
    "Overtaken",
    "Paused",
    "TooLate",
    "after",
    "card_of",
    "current",
    "had",
    "hand",
    "keep_draft",
    "lease",
    "let_go",
    "lock",
    "log",
    "may_have",
    "open_slots",
    "open_to",
    "own_card",
    "pause",
    "rate",
    "rate_and_lease",
    "reclaim",
    "renew",
    "restore",
    "resume",
    "saw_ratings",
    "seconds_read",
    "skip",
    "undo",
    "undoable",
    "void",
    "writing",
]
