FROM python:3.12-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --system --uid 10001 --create-home --home-dir /srv/compassion compassion
WORKDIR /srv/compassion

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY --chown=compassion:compassion . .
USER compassion

# Any key will do for gathering files; the one that signs comes from the environment at start.
RUN SECRET_KEY=unused python manage.py collectstatic --noinput --verbosity 0

EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s \
    CMD ["python", "-m", "compassion.healthcheck", "http://127.0.0.1:8000/healthz"]
CMD ["gunicorn", "compassion.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8", \
     "--access-logfile", "-", "--worker-tmp-dir", "/dev/shm"]
