"""What somebody may do is changed on a page, and on record."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rating", "0027_at_scale"),
    ]

    operations = [
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
                    ("freeze", "freeze"),
                    ("unblind", "unblind"),
                    ("review", "review"),
                    ("expertise", "expertise"),
                    ("publish", "publish"),
                    ("correct", "correct"),
                    ("mask", "mask"),
                    ("lock", "lock"),
                    ("deviate", "deviate"),
                    ("start", "start"),
                    ("cancel", "cancel"),
                    ("ceiling", "ceiling"),
                    ("leak", "leak"),
                    ("delete", "delete"),
                    ("factor", "factor"),
                    ("token", "token"),
                    ("invite", "invite"),
                    ("join", "join"),
                    ("export", "export"),
                    ("erase", "erase"),
                    ("judge", "judge"),
                    ("access", "access"),
                ],
                max_length=10,
            ),
        ),
    ]
