from django.urls import path

from runs import probe_views, views

app_name = "runs"
urlpatterns = [
    path("", views.waves, name="waves"),
    path("<slug:code>/", views.wave, name="wave"),
    path("<slug:code>/start/", views.start, name="start"),
    path("<slug:code>/probe/", probe_views.probe, name="probe"),
]
