"""The pages of those who rate, and of those who look after them."""

from django.urls import path

from rating import people_views, report_views, views

app_name = "rating"
urlpatterns = [
    path("rate/", views.queue, name="queue"),
    path("rate/next/", views.start, name="start"),
    path("rate/<uuid:code>/", views.rate, name="rate"),
    path("rate/<uuid:code>/skip/", views.skip, name="skip"),
    path("rate/<uuid:code>/keep/", views.keep, name="keep"),
    path("break/", views.pause, name="pause"),
    path("guidelines/", views.guidelines, name="guidelines"),
    path("people/", people_views.people, name="people"),
    path("join/<str:token>/", people_views.accept, name="join"),
    path("reports/<slug:wave>/", report_views.show, name="report"),
    path("reports/<slug:wave>/<str:name>", report_views.download, name="report_file"),
]
