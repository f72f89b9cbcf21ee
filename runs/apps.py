from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        from runs import probes, tasks  # noqa: F401  (their signals wake what a killed worker left)
        from runs.guards import install, lift

        pre_migrate.connect(lift, sender=self)
        post_migrate.connect(install, sender=self)
