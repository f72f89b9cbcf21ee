"""Seal the log and walk it; stand every tally, slot and report against what it was made from.

It also says whether there are agreed responses enough.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.consistency import faults
from rating.events import seal_events, walk_events
from rating.publishing.acts import unlike_published
from rating.seeding import pools


class Command(BaseCommand):
    help = "See whether the log holds, and whether queue and reports are what they should be."

    def handle(self, *args: Any, **options: Any) -> None:
        sealed = seal_events()
        walk = walk_events()
        found = [*faults(), *unlike_published()]
        if walk.broken_at is not None:
            found.insert(0, f"event {walk.broken_at} is not what was sealed")
        if found:
            raise CommandError("\n".join(found))
        self.stdout.write(
            f"The log holds: {walk.sealed} events, {sealed} of them sealed now. "
            "Slots, holds and tallies are those of the ratings; reports are as they were published."
        )
        for pool in pools():
            self.stdout.write(f"Agreed responses for {pool.in_words}")
