"""What was stored before there were seals is marked, so that it is sealed like what comes."""

from django.db import migrations

WHOLE = (
    "auth_group",
    "runs_item",
    "runs_pair",
    "runs_subject",
    "runs_deviation",
    "runs_run",
    "rating_user",
    "rating_user_groups",
    "rating_invitation",
    "rating_rating",
    "rating_guess",
    "rating_exposure",
    "rating_conflict",
    "rating_pause",
    "rating_adjudication",
    "rating_unblinding",
    "rating_norming",
    "rating_seed",
    "rating_qualification",
    "rating_reviewwork",
    "rating_itemreview",
    "rating_bankdraft",
    "rating_itemchange",
    "rating_publication",
    "rating_correction",
    "rating_export",
    "rating_judge",
    "rating_judging",
    "rating_paneljudge",
    "rating_apitoken",
    "rating_elsewhere",
)
SETTLED = {
    "runs_bank": "frozen_at IS NOT NULL",
    "runs_wave": "locked_at IS NOT NULL",
    "runs_response": "status <> 'pending'",
    "runs_probe": "status <> 'pending'",
    "rating_judgement": "state <> 'pending'",
    "rating_assignment": "ended_at IS NOT NULL",
    "rating_reviewhold": "ended_at IS NOT NULL",
}


def mark(apps, schema_editor):
    conditions = dict.fromkeys(WHOLE, "TRUE") | SETTLED
    with schema_editor.connection.cursor() as cursor:
        for table, condition in conditions.items():
            cursor.execute(
                'INSERT INTO rating_touch ("table", "key")'
                f" SELECT '{table}', CAST(id AS VARCHAR(40)) FROM {table} WHERE {condition}"
            )


class Migration(migrations.Migration):
    dependencies = [
        ("rating", "0024_seals_and_erasures"),
        ("runs", "0006_wave_published"),
    ]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
