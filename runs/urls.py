from django.urls import path

from runs import plan_views, views

app_name = "runs"
urlpatterns = [
    path("", views.waves, name="waves"),
    path("new/", plan_views.new, name="new"),
    path("new/file/", plan_views.load, name="load"),
    path("<slug:code>/", views.wave, name="wave"),
    path("<slug:code>/basics/", plan_views.basics, name="basics"),
    path("<slug:code>/subjects/", plan_views.subjects, name="subjects"),
    path("<slug:code>/preregistration/", plan_views.preregistration, name="preregistration"),
    path("<slug:code>/cost/", plan_views.cost, name="cost"),
    path("<slug:code>/lock/", plan_views.lock, name="lock"),
    path("<slug:code>/start/", views.start, name="start"),
    path("<slug:code>/act/", views.act, name="act"),
    path("<slug:code>/deviate/", views.deviation, name="deviate"),
    path("<slug:code>/ceiling/", views.ceiling, name="ceiling"),
]
