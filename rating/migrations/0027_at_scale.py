"""Indexes for what pages count among a million replies and two million ratings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rating", "0026_heartbeat"),
        ("runs", "0007_at_scale"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="rating",
            name="rating_rating_of_rater",
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["kind", "actor"], name="rating_event_kind"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(("seal", "")), fields=["id"], name="rating_event_unsealed"
            ),
        ),
        migrations.AddIndex(
            model_name="rating",
            index=models.Index(
                fields=["rater", "rated_at", "active_seconds"], name="rating_rating_of_rater"
            ),
        ),
        migrations.AddIndex(
            model_name="rating",
            index=models.Index(
                condition=models.Q(("kind", "counted"), _negated=True),
                fields=["kind", "rater"],
                name="rating_rating_not_counted",
            ),
        ),
        migrations.AddIndex(
            model_name="tally",
            index=models.Index(
                fields=["of", "wave", "rater", "count"], name="rating_tally_of_wave"
            ),
        ),
    ]
