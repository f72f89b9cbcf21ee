"""Let a response be settled again: by another, or after one of its two ratings was taken back."""

from datetime import timedelta

import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def stand_on_two(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Say of each adjudication which two ratings it is about, as the log has it.

    One that is about ratings that no longer stand, or that no rule asked for, has ended.
    """
    using = schema_editor.connection.alias
    if schema_editor.connection.vendor == "postgresql":
        # Else the checks that wait for the end of the transaction would bar the changes below.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    Rating = apps.get_model("rating", "Rating")
    shown = {
        event.about["adjudication"]: event.about["ratings"].split()
        for event in apps.get_model("rating", "Event")
        .objects.using(using)
        .filter(kind__in=["look", "settle"])
        .order_by("pk")
        if "ratings" in event.about and "adjudication" in event.about
    }
    for row in apps.get_model("rating", "Adjudication").objects.using(using).order_by("pk"):
        stand = [
            str(pk)
            for pk in Rating.objects.using(using)
            .filter(response=row.response_id, kind="counted", superseded_by=None, withdrawn_at=None)
            .order_by("slot")
            .values_list("pk", flat=True)
        ]
        sides = shown.get(str(row.code), stand)
        if len(sides) == 2:
            row.first_side_id, row.second_side_id = sides
        if len(sides) != 2 or set(sides) != set(stand):
            row.ended_at, row.ended = timezone.now(), "taken back"
        elif not row.triggers and row.settled_at is None:
            row.ended_at, row.ended = timezone.now(), "not due"
        if row.own_at and row.settled_at is None:
            row.held_until = row.own_at + timedelta(days=settings.SETTLE_DAYS)
        row.save(using=using)


class Migration(migrations.Migration):
    dependencies = [
        ("rating", "0010_care"),
        ("runs", "0001_initial"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="adjudication",
            name="rating_adjudication_open",
        ),
        migrations.AddField(
            model_name="adjudication",
            name="ended",
            field=models.CharField(
                blank=True,
                choices=[
                    ("handed over", "handed over"),
                    ("taken back", "a rating was taken back"),
                    ("not due", "no rule asks for it any more"),
                ],
                max_length=15,
            ),
        ),
        migrations.AddField(
            model_name="adjudication",
            name="ended_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="adjudication",
            name="second_side",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="rating.rating",
            ),
        ),
        migrations.AlterField(
            model_name="adjudication",
            name="response",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="adjudications",
                to="runs.response",
            ),
        ),
        migrations.RunPython(stand_on_two, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("rate", "rate"),
                    ("undo", "undo"),
                    ("void", "void"),
                    ("restore", "restore"),
                    ("skip", "skip"),
                    ("pause", "pause"),
                    ("resume", "resume"),
                    ("settle", "settle"),
                    ("look", "look"),
                    ("nominate", "nominate"),
                    ("agree", "agree"),
                    ("qualify", "qualify"),
                    ("end", "end"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="adjudication",
            index=models.Index(
                condition=models.Q(("ended_at", None), ("settled_at", None)),
                fields=["opened_at"],
                name="rating_adjudication_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)),
                fields=("response",),
                name="rating_adjudication_one_stands",
            ),
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("first_side__isnull", False), ("second_side__isnull", False)),
                    ("ended_at__isnull", False),
                    _connector="OR",
                ),
                name="rating_adjudication_stands_on_two",
            ),
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended", ""), ("ended_at", None)),
                    models.Q(
                        ("ended__in", ["handed over", "taken back", "not due"]),
                        ("ended_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="rating_adjudication_ended_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("settled_at", None), ("ended__in", ["", "taken back"]), _connector="OR"
                ),
                name="rating_adjudication_settled_stays",
            ),
        ),
    ]
