"""How much of an uploaded file is taken. Django by itself would fill a disk with it."""

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler


class Bounded(FileUploadHandler):
    """Lets through a little more than a file may have, so that its form sees it is too large.

    It stands before the handlers that keep what they are given, and keeps nothing itself.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        # ``start`` is how much of this file has gone through already.
        return raw_data if start < settings.DATA_UPLOAD_MAX_MEMORY_SIZE else None

    def file_complete(self, file_size: int) -> Any:
        return None
