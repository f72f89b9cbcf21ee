"""Count what each rater had given before choices were balanced over it."""

from collections import Counter

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def count(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    using = schema_editor.connection.alias
    slots = {
        (response, number): (wave, subject, arm)
        for response, number, wave, subject, arm in apps.get_model("rating", "Slot")
        .objects.using(using)
        .filter(state="rated")
        .values_list("response", "number", "wave", "subject_id", "arm")
    }
    counted = (
        apps.get_model("rating", "Rating")
        .objects.using(using)
        .filter(kind="counted", superseded_by=None, withdrawn_at=None)
        .order_by("rated_at")
        .values_list("response", "slot", "rater")
    )
    tallies: Counter[tuple[int, int, str, int]] = Counter()
    raters_of: dict[int, list[int]] = {}
    for response, number, rater in counted:
        if (response, number) not in slots:
            continue
        wave, subject, arm = slots[response, number]
        tallies[rater, wave, "subject", subject] += 1
        if arm:
            tallies[rater, wave, "arm", arm] += 1
        for other in raters_of.setdefault(response, []):
            tallies[rater, wave, "partner", other] += 1
            tallies[other, wave, "partner", rater] += 1
        raters_of[response].append(rater)
    # Who has begun a wave has a 0 for each subject and arm of it that they had nothing of.
    subjects: dict[int, set[int]] = {}
    for wave, subject in (
        apps.get_model("runs", "Run").objects.using(using).values_list("wave", "subject")
    ):
        subjects.setdefault(wave, set()).add(subject)
    paired = {wave for wave, _, arm in slots.values() if arm}
    for rater, wave in {(rater, wave) for rater, wave, *_ in tallies}:
        for subject in subjects.get(wave, ()):
            tallies[rater, wave, "subject", subject] += 0
        for arm in (1, 2) if wave in paired else ():
            tallies[rater, wave, "arm", arm] += 0
    Tally = apps.get_model("rating", "Tally")
    Tally.objects.using(using).bulk_create(
        (
            Tally(rater_id=rater, wave_id=wave, of=of, which=which, count=n)
            for (rater, wave, of, which), n in tallies.items()
        ),
        batch_size=1000,
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("rating", "0006_check_key")]

    operations = [migrations.RunPython(count, migrations.RunPython.noop)]
