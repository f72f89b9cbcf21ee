from django.urls import path

from runs import views

app_name = "runs"
urlpatterns = [
    path("", views.waves, name="waves"),
    path("<slug:code>/", views.wave, name="wave"),
    path("<slug:code>/start/", views.start, name="start"),
]
