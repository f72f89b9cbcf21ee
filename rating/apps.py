from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RatingConfig(AppConfig):
    name = "rating"
    verbose_name = "Rating"

    def ready(self) -> None:
        from rating import checks, people, queue, run_events, seeding, support, unblinding  # noqa: F401 - for what they add
        from rating.judges import asking
        from runs.guards import install
        from runs.signals import acted, calls_held, cards_timed, responses_completed

        post_migrate.connect(install, sender=self)
        post_migrate.connect(people.create_roles, sender=self)
        responses_completed.connect(queue.open_slots, dispatch_uid="rating.open_slots")
        # After the line above, which it follows: receivers are told in the order they are named.
        responses_completed.connect(unblinding.close_late, dispatch_uid="rating.close_late")
        acted.connect(run_events.keep, dispatch_uid="rating.run_events")
        cards_timed.connect(run_events.card_seconds, dispatch_uid="rating.card_seconds")
        calls_held.connect(asking.calls_held, dispatch_uid="rating.calls_held")
