from django.urls import URLPattern

app_name = "rating"
urlpatterns: list[URLPattern] = []
