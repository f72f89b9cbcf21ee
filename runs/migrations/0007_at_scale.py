"""Indexes for what pages count among a million replies and two million ratings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0006_wave_published"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="response",
            index=models.Index(fields=["run", "status"], name="runs_response_by_status"),
        ),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(fields=["run", "completed_at"], name="runs_response_last"),
        ),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                condition=models.Q(("self_naming", []), _negated=True),
                fields=["run"],
                name="runs_response_naming",
            ),
        ),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                condition=models.Q(("status__in", ["filtered", "failed", "malformed"])),
                fields=["run", "completed_at"],
                name="runs_response_no_reply",
            ),
        ),
    ]
