"""The web application, for a WSGI server."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")

application = get_wsgi_application()
# Every page is read before the first request, so that nobody waits for it.
_ = get_resolver().url_patterns
