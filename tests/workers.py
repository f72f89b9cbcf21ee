"""What each process of a test run has to itself: a folder, and a database of Redis.

Loaded by ``-p`` before the settings are, so that they find these in the environment. A broker
folder or a cache that two processes shared would be emptied by one while the other uses it.
"""

import os
import re
from urllib.parse import urlsplit, urlunsplit

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if WORKER:
    folder = os.environ.get("VAR_DIR") or os.path.join(os.getcwd(), "var")
    os.environ["VAR_DIR"] = os.path.join(folder, WORKER)
    broker = urlsplit(os.environ.get("CELERY_BROKER_URL", ""))
    if broker.scheme in ("redis", "rediss"):
        # Redis has sixteen databases unless it is told otherwise: they are taken in a ring.
        first, nth = int(broker.path.strip("/") or 0), int(re.sub(r"\D", "", WORKER))
        path = f"/{(first + nth) % 16}"
        os.environ["CELERY_BROKER_URL"] = urlunsplit(broker._replace(path=path))
