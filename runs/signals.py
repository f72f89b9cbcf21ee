"""What others may want to know of a run, told inside the transaction that makes it true."""

from django.dispatch import Signal

# Sent with ``response_ids``: replies just stored that people can rate.
responses_completed = Signal()

# Sent with ``act``, ``by`` (the key of a person, or None) and ``about``: what was done to a wave.
acted = Signal()

# Asks how long cards have taken: receivers answer ``(cards, seconds)`` for an ``instrument``.
cards_timed = Signal()

# Asks how many more calls of a subject are in flight: receivers answer a count for ``subject_id``,
# without those that ``holder`` has, at ``now``.
calls_held = Signal()
