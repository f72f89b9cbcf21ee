from django.urls import URLPattern

app_name = "runs"
urlpatterns: list[URLPattern] = []
