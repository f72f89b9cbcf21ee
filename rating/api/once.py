"""A request that is sent twice is carried out once.

The key is kept in the transaction that does the work: whatever ends the process, either both are
there or neither. Who comes with the same key meanwhile waits, and gets the same answer. A request
that is refused did nothing, and takes no key.
"""

import hashlib
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from django.utils import timezone
from ninja import Status
from ninja.params.functions import Header

from rating.api.door import ApiRequest
from rating.api.problems import Problem
from rating.models import EventKind
from rating.queue import log, writing
from rating.tokens import CALLS_KEPT, ApiCall

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=100,
        pattern=r"^[!-~]+$",
        description="A name for this request, new each time, such as a UUID. Sent again with the "
        "same body within 48 hours, the request is answered as it was and not done again.",
    ),
]
Act = Callable[[], tuple[dict[str, Any], dict[str, object]]]


def once(request: ApiRequest, key: str, act: Act, *, status: int = 201) -> Status[Any]:
    """Do ``act``, which gives an answer and what the log should say; or give the answer again."""
    sent = hashlib.sha256(f"{request.method} {request.path}\n".encode() + request.body).hexdigest()
    token, now, mine = request.auth.token, timezone.now(), uuid.uuid4()
    with writing():
        ApiCall.objects.filter(token=token, key=key, made_at__lt=now - CALLS_KEPT).delete()
        # Two with one key: the second waits here until the first has ended.
        ApiCall.objects.bulk_create(
            [ApiCall(token=token, key=key, request_hash=sent, draw=mine, made_at=now)],
            ignore_conflicts=True,
        )
        kept = ApiCall.objects.get(token=token, key=key)
        if kept.draw != mine:
            if kept.request_hash != sent:
                raise Problem("key-reused", f"The key {key} stands for another request.")
            request.told["Idempotent-Replayed"] = "true"
            return Status(kept.status, kept.answer)
        answer, about = act()
        ApiCall.objects.filter(pk=kept.pk).update(status=status, answer=answer)
        log(
            EventKind.TOKEN,
            request.auth.person.pk,
            token=token.prefix,
            step="wrote",
            path=request.path,
            body=hashlib.sha256(request.body).hexdigest(),
            **about,
        )
    return Status(status, answer)
