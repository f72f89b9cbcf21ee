# One command for each thing done often. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
# How many processes share the suite; each has a database of its own.
PROCESSES ?= auto

# Files of the long tests to leave out, because they were run already, or to run alone.
PROVEN ?=
PROOFS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo run worker test proof check audit bench pins

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z]*\):.*## /  make \1: /p' $(MAKEFILE_LIST)

setup: .venv/.product  ## build the environment in .venv

demo: .venv/.product  ## try the product on 127.0.0.1:8000; Ctrl-C ends it
	@LOG_FORMAT=plain LOG_LEVEL=WARNING exec $(MANAGE) demo

run: .venv/.product  ## serve on 127.0.0.1:8000 for development
	DEBUG=1 LOG_FORMAT=plain $(MANAGE) runserver

worker: .venv/.product  ## ask subjects what is waiting
	LOG_FORMAT=plain $(BIN)/celery -A compassion worker --pool threads --concurrency 4

test: .venv/.tools  ## the whole suite; DATABASE_URL and CELERY_BROKER_URL say on what
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile

proof: .venv/.tools  ## the long tests: kills, threads, a whole day
	$(BIN)/python -m pytest -m proof -n $(PROCESSES) --dist loadfile $(addprefix --ignore=,$(PROVEN)) $(PROOFS)

check: .venv/.tools  ## style, types, templates and migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files -z -- '*.html' | xargs -0 $(BIN)/djade --target-version 5.2 --check
	git ls-files -z -- 'compassion/*.py' 'runs/*.py' 'rating/*.py' | xargs -0 $(BIN)/django-upgrade --target-version 5.2
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) check

audit: .venv/.tools  ## licences, pins and known vulnerabilities of what is installed
	$(BIN)/python -m tests.audit

bench: .venv/.tools  ## measure, and print the figures
	$(BIN)/python -m tests.bench

pins: .venv/.tools  ## renew the pinned requirements
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --quiet requirements.in -o requirements.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --quiet requirements-dev.in -o requirements-dev.txt

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is `$(PYTHON) --version`. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "This Python cannot make an environment. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.product: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

.venv/.tools: requirements-dev.txt .venv/.product
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@
