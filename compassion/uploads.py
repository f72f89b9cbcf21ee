"""How much of an uploaded file is taken. Django by itself would fill a disk with it."""

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest


class Bounded(FileUploadHandler):
    """Lets through a little more than a file may have, so that its form sees it is too large.

    All files of a request together may have as much. It stands before the handlers that keep what
    they are given, and keeps nothing itself.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self._passed = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        if self._passed >= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return None
        self._passed += len(raw_data)
        return raw_data

    def file_complete(self, file_size: int) -> Any:
        return None
