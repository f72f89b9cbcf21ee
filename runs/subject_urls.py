from django.urls import path

from runs import subject_views

app_name = "subjects"
urlpatterns = [
    path("", subject_views.subjects, name="all"),
    path("<slug:code>/", subject_views.subject, name="one"),
]
