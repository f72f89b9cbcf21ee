from django.urls import path

from runs import plan_views, probe_views, views

app_name = "runs"
urlpatterns = [
    path("", views.waves, name="waves"),
    path("new/", plan_views.new, name="new"),
    path("new/file/", plan_views.load, name="load"),
    path("<slug:code>/", views.wave, name="wave"),
    path("<slug:wave>/basics/", plan_views.basics, name="basics"),
    path("<slug:wave>/subjects/", plan_views.subjects, name="subjects"),
    path("<slug:wave>/preregistration/", plan_views.preregistration, name="preregistration"),
    path("<slug:wave>/cost/", plan_views.cost, name="cost"),
    path("<slug:wave>/lock/", plan_views.lock, name="lock"),
    path("<slug:wave>/delete/", plan_views.delete, name="delete"),
    path("<slug:wave>/plan.toml", plan_views.file, name="file"),
    path("<slug:code>/start/", views.start, name="start"),
    path("<slug:wave>/act/", views.act, name="act"),
    path("<slug:wave>/deviate/", views.deviation, name="deviate"),
    path("<slug:wave>/ceiling/", views.ceiling, name="ceiling"),
    path("<slug:code>/probe/", probe_views.probe, name="probe"),
]
