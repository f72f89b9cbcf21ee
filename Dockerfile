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

# Inside a container everybody is let in; `docker-compose.yml` says who reaches it from outside.
ENV WEB_BIND=0.0.0.0:8000
EXPOSE 8000
# gunicorn ends gracefully on this: what is in hand is answered first.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s \
    CMD ["python", "-m", "compassion.healthcheck", "http://127.0.0.1:8000/healthz"]
CMD ["gunicorn", "--config", "python:compassion.serving", "compassion.wsgi"]
