"""The barest queue that Django can be asked for, to hold ours against.

One table of tasks, each for one label, and one of labels, by the framework's usual means: a session, the CSRF check, a
transaction that stores a label, the next open task locked with SKIP LOCKED where there is such a
thing, and a page of two paragraphs. No rule of design, no lease, no quote, no blinding.
"""

from django.db import connection, models, transaction
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]


class Task(models.Model):
    text = models.TextField()
    state = models.CharField(max_length=4, default="open")

    class Meta:
        app_label = "bench"
        indexes = [models.Index(fields=["id"], condition=models.Q(state="open"), name="bench_open")]

    def __str__(self) -> str:
        return f"task {self.pk}"


class Label(models.Model):
    task = models.ForeignKey(Task, models.PROTECT)
    rater = models.BigIntegerField(db_index=True)
    level = models.SmallIntegerField()
    words = models.TextField()

    class Meta:
        app_label = "bench"

    def __str__(self) -> str:
        return f"label {self.pk}"


PAGE = """<form method="post" action="/bare/{{ task.pk }}/">{% csrf_token %}<p>{{ task.text }}</p>
{% for level in levels %}<label><input type="radio" name="level" value="{{ level }}"> {{ level }}
</label>{% endfor %}<input name="words"><button>Submit</button></form>"""


def label(request: HttpRequest, pk: int) -> HttpResponse:
    with transaction.atomic():
        if request.POST.get("level"):
            Label.objects.create(
                task_id=pk,
                rater=request.user.pk,
                level=int(request.POST["level"]),
                words=request.POST["words"],
            )
            Task.objects.filter(pk=pk).update(state="done")
        had = Label.objects.filter(rater=request.user.pk, task=models.OuterRef("pk"))
        waiting = Task.objects.filter(~models.Exists(had), state="open").order_by("pk")
        if connection.features.has_select_for_update:
            waiting = waiting.select_for_update(skip_locked=True)
        task = waiting.first()
        if task:
            Task.objects.filter(pk=task.pk).update(state="held")
    page = engines["django"].from_string(PAGE)
    return HttpResponse(page.render({"task": task, "levels": range(1, 6)}, request))


urlpatterns = [path("bare/<int:pk>/", label)]


def build(tasks: int, text: str) -> None:
    with connection.schema_editor() as editor:
        editor.create_model(Task)
        editor.create_model(Label)
    Task.objects.bulk_create((Task(text=text) for _ in range(tasks)), batch_size=5_000)
