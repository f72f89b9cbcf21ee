"""An index for what was tried and still waits."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0007_at_scale"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                condition=models.Q(
                    ("status", "pending"), models.Q(("attempts", []), _negated=True)
                ),
                fields=["run"],
                name="runs_response_begun",
            ),
        ),
    ]
