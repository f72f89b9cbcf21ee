"""Fill what the queue balances over, for slots opened before it was kept on them."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Subquery


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    slots = apps.get_model("rating", "Slot").objects.using(schema_editor.connection.alias)
    responses = apps.get_model("runs", "Response").objects.filter(pk=OuterRef("response"))
    pairs = apps.get_model("runs", "Pair").objects
    slots.update(
        subject_id=Subquery(responses.values("run__subject")[:1]),
        language=Subquery(responses.values("item__language")[:1]),
    )
    for number, arm in ((1, "arm_a"), (2, "arm_b")):
        slots.filter(item_id__in=pairs.values(arm)).update(arm=number)


class Migration(migrations.Migration):
    dependencies = [("rating", "0002_rating_room")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
