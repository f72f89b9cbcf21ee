"""Fill the database of take_pictures.py with a rated, unblinded and published wave of made-up levels.

It exists for the pictures alone, and says so in its title. Nobody rated it.
"""

import json
import os
import sys
from pathlib import Path

import django

ROOT = Path(__file__).parents[1]


def main() -> None:
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
    django.setup()
    from django.utils import timezone

    from rating.consistency import count_tallies
    from rating.models import EventKind, Rating, Role
    from rating.publishing.acts import publish
    from rating.queue import log
    from runs.bank import check_bank
    from tests.factories import make_bank, make_user
    from tests.rating.publishing.waves import rated_wave

    whole = json.loads((ROOT / "fixtures" / "model_index.json").read_text())
    served = [item.code for item in check_bank(whole).items if not item.withheld]
    items = [item for item in whole["items"] if item["id"] in served]
    meta = {**whole["meta"], "bankVersion": "sample", "itemCount": len(items)}
    bank = make_bank({"meta": meta, "items": items})
    levels = {"sample-a-2026-09": 3.9, "sample-b-2026-09": 4.0, "sample-c-2026-09": 2.4}
    wave = rated_wave(levels, bank=bank, code="sample", title="Sample: made-up levels")
    for rating in Rating.objects.order_by("rated_at", "pk"):
        log(EventKind.RATE, rating.rater_id, rating=rating.pk, kind=rating.kind)
    count_tallies()
    publish(wave, make_user(Role.MAINTAINER), "For the pictures.", now=timezone.now())


if __name__ == "__main__":
    main()
