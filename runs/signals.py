"""What others may want to know of a run, told inside the transaction that makes it true."""

from django.dispatch import Signal

# Sent with ``response_ids``: replies just stored that people can rate.
responses_completed = Signal()
