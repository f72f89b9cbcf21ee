"""How gunicorn serves the site: ``gunicorn --config python:compassion.serving compassion.wsgi``.

On SIGTERM it takes no new request and lets those in hand end, for as long as ``graceful_timeout``.
"""

import logging
from pathlib import Path

from compassion import logs
from compassion.settings import LOGGING, WEB_BIND, WEB_THREADS, WEB_WORKERS

# A warning is a line of the log like any other.
logging.captureWarnings(True)

bind = WEB_BIND
workers = WEB_WORKERS
threads = WEB_THREADS
worker_class = "gthread"
# Read once and forked: a process that dies is replaced at once, and they share what they read.
# A new version takes a new start; HUP alone would not read it.
preload_app = True
# Longer than the longest answer; ``docker-compose.yml`` waits a little longer still.
timeout = 60
graceful_timeout = 30
# Connections that a proxy keeps open are worth more than a fresh one for each request.
keepalive = 5
# The pulse of a worker is a file: in memory, where a slow disk cannot stop it.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
# It would write into a home folder, which a container has not, and nobody asks it anything.
control_socket_disable = True
# What the product logs of each request, with its id, takes the place of gunicorn's own line.
accesslog = None
logconfig_dict = logs.served(LOGGING)
