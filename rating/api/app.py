"""The API put together: its calls, how their faults are told, its description and its addresses."""

from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.http import require_GET
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation

from rating.api import banks, elsewhere, figures, replies, results, waves
from rating.api.door import Token, door
from rating.api.problems import Problem, not_found
from rating.api.reference import completed
from rating.api.strict import StrictParser

VERSION = "1"
MODULES = (waves, figures, replies, results, banks, elsewhere)
ABOUT = (
    "What a program may ask of Compassion and send to it, by the rules that hold on its pages. "
    "What is added to version 1 is new calls and new fields; what is there stays as it is."
)


class Api(NinjaAPI):
    """Ninja, whose every fault goes out through the door as a problem."""

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        if isinstance(exc, ValidationError):
            raise _invalid(exc) from None
        if isinstance(exc, HttpError) and isinstance(exc.__cause__, Problem):
            raise exc.__cause__ from None
        raise exc

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = Api(
    title="Compassion",
    version=VERSION,
    description=ABOUT,
    openapi_url=None,
    docs_url=None,
    urls_namespace="api",
    parser=StrictParser(),
)
for one in MODULES:
    api.add_router("", one.router)


@lru_cache(maxsize=1)
def description() -> dict[str, Any]:
    """The OpenAPI 3.1 description of every call."""
    return completed(dict(api.get_openapi_schema()), scopes())


def scopes() -> dict[str, str]:
    """The scope that each call asks for, by its name. Those anyone may make are not here."""
    return {
        operation.view_func.__name__: auth.scope
        for operation in _operations()
        for auth in operation.auth_callbacks
        if isinstance(auth, Token)
    }


def _operations() -> list[Operation]:
    return [
        operation
        for module in MODULES
        for view in module.router.path_operations.values()
        for operation in view.operations
    ]


def _parameters() -> dict[str | None, frozenset[str]]:
    """What may stand behind the question mark, by the name of each call at that address."""
    return {
        operation.view_func.__name__: frozenset(
            name
            for one in view.operations
            for model in one.models
            if model.__ninja_param_source__ == "query"
            for name in model.__ninja_flatten_map__
        )
        for module in MODULES
        for view in module.router.path_operations.values()
        for operation in view.operations
    }


@require_GET
def openapi(request: HttpRequest) -> HttpResponse:
    """The description of all calls, for programs and tools. No token is needed."""
    answer = JsonResponse(description(), json_dumps_params={"ensure_ascii": False})
    answer["Cache-Control"] = "public, no-cache"
    return answer


def _invalid(fault: ValidationError) -> Problem:
    """Each fault with its place: a pointer into the body, or the name of a parameter."""
    errors = []
    for one in fault.errors:
        where, *loc = one["loc"]
        said = str(one["msg"]).encode(errors="backslashreplace").decode()
        if where == "body":
            # First of all stands the name that our own function has for the body.
            pointer = "".join(f"/{_pointed(step)}" for step in loc[1:])
            errors.append({"detail": f"{said}.", "pointer": f"#{pointer}"})
        else:
            errors.append({"detail": f"{said}.", "parameter": str(loc[-1])})
    return Problem("invalid", "The request does not have the form it must have.", errors=errors)


def _pointed(step: Any) -> str:
    text = str(step).encode(errors="backslashreplace").decode()
    return text.replace("~", "~0").replace("/", "~1")


def _patterns() -> list[URLPattern]:
    """All addresses, each behind the door; whatever else is asked for is a problem too."""
    found = [path("openapi.json", door(openapi), name="openapi")]
    parameters = _parameters()
    for pattern in api.urls[0]:
        assert isinstance(pattern, URLPattern)
        if pattern.name == "api-root":
            pattern = path("", door(not_found), name="api-root")
        else:
            pattern.callback = door(pattern.callback, parameters.get(pattern.name, ()))
        found.append(pattern)
    return [*found, re_path(r"^(?P<name>[\s\S]+)$", door(not_found), name="nothing")]


urlpatterns = _patterns()
app_name = "api"
