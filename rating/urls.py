"""The pages of those who rate, and of those who look after them."""

from django.urls import path

from rating import (
    becoming_views,
    norming_views,
    people_views,
    raters_views,
    report_views,
    settle_views,
    views,
)

app_name = "rating"
urlpatterns = [
    path("rate/", views.queue, name="queue"),
    path("rate/next/", views.start, name="start"),
    path("rate/<uuid:code>/", views.rate, name="rate"),
    path("rate/<uuid:code>/skip/", views.skip, name="skip"),
    path("rate/<uuid:code>/keep/", views.keep, name="keep"),
    path("rate/<uuid:code>/undo/", views.undo, name="undo"),
    path("rate/<uuid:code>/guess/", views.guess, name="guess"),
    path("token/", views.token, name="token"),
    path("text/", views.text, name="text"),
    path("break/", views.pause, name="pause"),
    path("guidelines/", views.guidelines, name="guidelines"),
    path("practice/", becoming_views.practice, name="practice"),
    path("practice/next/", becoming_views.practice_next, name="practice_next"),
    path("practice/<uuid:code>/", becoming_views.practised, name="practised"),
    path("qualify/next/", becoming_views.qualify_next, name="qualify_next"),
    path("qualification/<int:pk>/", becoming_views.qualification, name="qualification"),
    path("standing/", becoming_views.standing, name="standing"),
    path("vote/", norming_views.vote, name="vote"),
    path("norming/", norming_views.norming, name="norming"),
    path("norming/nominate/", norming_views.nominate, name="nominate"),
    path("norming/seniors/", norming_views.seniors, name="seniors"),
    path("norming/<uuid:code>/", norming_views.settle, name="agree"),
    path("norming/<uuid:code>/retire/", norming_views.retire, name="retire"),
    path("settle/", settle_views.queue, name="settle_queue"),
    path("settle/next/", settle_views.start, name="settle_next"),
    path("settle/<uuid:code>/", settle_views.settle, name="settle"),
    path("raters/", raters_views.raters, name="raters"),
    path("raters/<str:pseudonym>/pause/", raters_views.pause, name="pause_rater"),
    path("raters/<str:pseudonym>/resume/", raters_views.resume, name="resume_rater"),
    path("people/", people_views.people, name="people"),
    path("join/<str:token>/", people_views.accept, name="join"),
    path("reports/<slug:wave>/", report_views.show, name="report"),
    path("reports/<slug:wave>/<str:name>", report_views.download, name="report_file"),
]
