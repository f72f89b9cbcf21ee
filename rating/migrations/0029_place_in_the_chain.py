"""Each sealed event keeps its place in the chain.

Numbers are given before a transaction commits. Of two at once, the one with the higher number could
be sealed first, and a walk in the order of numbers then said that the log was broken. The places of
what is sealed already are found by going from seal to seal, which was right all along; what cannot
be reached so comes last, where the walk finds it.
"""

from django.db import migrations, models

FROM_SEAL_TO_SEAL = """
    WITH RECURSIVE chain (id, seal, place) AS (
        SELECT id, seal, 1 FROM rating_event WHERE seal <> '' AND previous = ''
        UNION ALL
        SELECT e.id, e.seal, c.place + 1 FROM chain c JOIN rating_event e ON e.previous = c.seal
        WHERE e.seal <> ''
    ), placed (id, place) AS (
        SELECT e.id, row_number() OVER (ORDER BY c.place NULLS LAST, e.id)
        FROM rating_event e LEFT JOIN chain c ON c.id = e.id WHERE e.seal <> ''
    )
    UPDATE rating_event SET place = placed.place FROM placed WHERE placed.id = rating_event.id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("rating", "0028_access"),
    ]

    operations = [
        migrations.AddField(
            model_name="event",
            name="place",
            field=models.PositiveBigIntegerField(null=True, unique=True),
        ),
        migrations.RunSQL(
            [
                "CREATE INDEX rating_event_previous ON rating_event (previous)",
                FROM_SEAL_TO_SEAL,
                "DROP INDEX rating_event_previous",
            ],
            migrations.RunSQL.noop,
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("place", None), ("seal", "")),
                    models.Q(
                        models.Q(("seal", ""), _negated=True),
                        ("place__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="rating_event_sealed_in_its_place",
            ),
        ),
    ]
