"""Every setting, in one file. What differs between places comes from the environment.

The defaults are those of one machine: SQLite and a file-system broker, both under ``var/``.
"""

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def env_bool(name: str, default: bool = False) -> bool:
    given = env(name).lower()
    if given in ("1", "true", "yes", "on"):
        return True
    if given in ("0", "false", "no", "off"):
        return False
    if given:
        raise ImproperlyConfigured(f"{name} is {given!r}; write true or false.")
    return default


def env_int(name: str, default: int) -> int:
    given = env(name)
    try:
        return int(given) if given else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {given!r}; write a whole number.") from None


def env_float(name: str, default: float) -> float:
    given = env(name)
    try:
        return float(given) if given else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {given!r}; write a number, such as 0.5.") from None


def env_list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in env(name, default).split(",") if part.strip()]


def kept_secret(path: Path) -> str:
    """A key made once and kept beside the data of one machine, readable by its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    except OSError as why:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set and {path} cannot be written ({why.strerror}). "
            "Set SECRET_KEY to a long random text."
        ) from None
    with os.fdopen(descriptor, "w") as file:
        key = secrets.token_urlsafe(50)
        file.write(key)
    return key


BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env("VAR_DIR", str(BASE_DIR / "var")))

DEBUG = env_bool("DEBUG")
SECRET_KEY = env("SECRET_KEY") or kept_secret(VAR_DIR / "secret_key")
# Keys used before: what was sealed, signed or hidden under one of them can still be read.
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "runs.apps.RunsConfig",
    "rating.apps.RatingConfig",
]

MIDDLEWARE = [
    "compassion.requests.RequestIdMiddleware",
    "compassion.requests.HeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "compassion.requests.SignInMiddleware",
    "compassion.requests.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "compassion.requests.NoStoreMiddleware",
    "compassion.requests.MethodMiddleware",
]

ROOT_URLCONF = "compassion.urls"
WSGI_APPLICATION = "compassion.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "compassion.requests.site",
            ],
        },
    },
]

# Data

DATABASES = {
    "default": dj_database_url.parse(
        env("DATABASE_URL", f"sqlite:///{VAR_DIR / 'db.sqlite3'}"),
        conn_max_age=60,
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # The planner takes disks to turn by default: a few thousand open slots were read and sorted
    # for each card, where the first rows of an index suffice. Compiling costs more than it gains.
    # The statements of the rating room are planned once for each connection: see its ``rows``.
    DATABASES["default"]["OPTIONS"] = {
        "options": "-c random_page_cost=1.1 -c jit=off",
        # A server that is away is known to be after so many seconds, and a page says so.
        "connect_timeout": 5,
        "prepare_threshold": 2,
    } | DATABASES["default"].get("OPTIONS", {})
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    VAR_DIR.mkdir(parents=True, exist_ok=True)
    DATABASES["default"] |= {
        # A transaction that begins by reading and then writes would fail at once when another
        # has written between: it begins by writing instead, and waits its turn.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # Threads cannot share a database in memory.
        "TEST": {"NAME": str(VAR_DIR / "test.sqlite3")},
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = env("CELERY_BROKER_URL", "filesystem://")
BROKER_DIR = VAR_DIR / "broker"
CACHES = {
    "default": (
        {
            "BACKEND": "compassion.caches.RedisOrMemory",
            "LOCATION": CELERY_BROKER_URL,
            # Nobody waits longer than this for what can be made again.
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 2},
        }
        if urlsplit(CELERY_BROKER_URL).scheme in ("redis", "rediss")
        else {"BACKEND": "compassion.caches.OneMachineCache", "LOCATION": VAR_DIR / "limits"}
    ),
    # What workers work out for pages: every process of every machine finds it there.
    "figures": (
        {
            "BACKEND": "compassion.caches.RedisOrMemory",
            "LOCATION": CELERY_BROKER_URL,
            "KEY_PREFIX": "figures",
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 2},
        }
        if urlsplit(CELERY_BROKER_URL).scheme in ("redis", "rediss")
        else {
            "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
            "LOCATION": VAR_DIR / "figures",
            "OPTIONS": {"MAX_ENTRIES": 1000},
        }
    ),
}

# People

AUTH_USER_MODEL = "rating.User"
AUTHENTICATION_BACKENDS = ["rating.sign_in.Backend"]
# Length counts, not rules of composition. The shortest is also told where one is chosen.
PASSWORD_LENGTH = 12
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": PASSWORD_LENGTH}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "rating.people.InvitationOnlyAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # an invitation reached the address already
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_FORMS = {
    "login": "rating.sign_in_forms.LoginForm",
    "reauthenticate": "rating.sign_in_forms.PasswordAgainForm",
}
# An office of raters shares one address: the limits by address leave room for all of them, those
# by account do not. Codes of the second factor are short, so they have a limit of the day too.
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "login_failed": "60/m/ip,5/5m/key",
    "second_factor": "60/m/ip,5/5m/key,25/d/key",
    "reauthenticate": "10/m/user",
    "change_password": "10/m/user",
    "reset_password": "30/m/ip,5/h/key",
    "reset_password_from_key": "60/m/ip",
}
# Behind a proxy the sender of a request is what the proxies wrote, of which there are so many:
# what stands before that in X-Forwarded-For was written by whoever sent it, and is not believed.
BEHIND_PROXY = env_bool("BEHIND_PROXY")
PROXIES = env_int("PROXIES", 1) if BEHIND_PROXY else 0
# Maintainers and admins sign in with a code beside their password; false: nobody must.
SECOND_FACTOR = env_bool("SECOND_FACTOR", not DEBUG)
# Hides the keys of second factors in the database; unset: made from SECRET_KEY.
SECOND_FACTOR_KEY = env("SECOND_FACTOR_KEY")
MFA_ADAPTER = "rating.second_factor.Adapter"
MFA_FORMS = {
    "authenticate": "rating.sign_in_forms.CodeForm",
    "reauthenticate": "rating.sign_in_forms.CodeAgainForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1  # the clock of a phone may be half a minute off
INVITATION_DAYS = env_int("INVITATION_DAYS", 14)
SESSION_COOKIE_AGE = env_int("SESSION_HOURS", 24 * 14) * 3600
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # nobody learns which addresses have an account
EMAIL_HOST = env("EMAIL_HOST")
EMAIL_PORT = env_int("EMAIL_PORT", 587)
EMAIL_HOST_USER = env("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env("EMAIL_HOST_PASSWORD")
EMAIL_TIMEOUT = 10  # seconds: nobody's page waits longer for a server that does not answer
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", True)
# Without a mail server nothing is sent, and nothing is offered that would need it.
MAIL = bool(EMAIL_HOST)
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", "compassion@localhost")
# Where links in a mail lead that no request asked for.
SITE_URL = env("SITE_URL", next(iter(CSRF_TRUSTED_ORIGINS), "")).rstrip("/")

# The rating room

LEASE_MINUTES = env_int("LEASE_MINUTES", 45)
# Cards of one item, or of the two arms of a pair, that a rater sees lie at least so far apart.
CARD_DISTANCE = env_int("CARD_DISTANCE", 6)
# How far a rater's counts over the subjects, or over the arms, of a wave may differ.
UNEVEN_CAP = env_int("UNEVEN_CAP", 4)
UNDO_MINUTES = env_int("UNDO_MINUTES", 10)
RATINGS_A_DAY = env_int("RATINGS_A_DAY", 0)  # 0: as many as they like
HARD_TOPICS_A_DAY = env_int("HARD_TOPICS_A_DAY", 5)
# Two ratings so many levels apart are settled, and so is this share of all, drawn beforehand.
ADJUDICATE_AT = env_int("ADJUDICATE_AT", 2)
ADJUDICATE_SAMPLE_PERCENT = env_int("ADJUDICATE_SAMPLE_PERCENT", 5)
# What an adjudicator began, and does not settle, goes to another after so many days.
SETTLE_DAYS = env_int("SETTLE_DAYS", 7)
# Becoming a rater: the rule is declared beforehand, and kept with each attempt.
PRACTICE_ITEMS = env_int("PRACTICE_ITEMS", 12)
QUALIFY_ITEMS = env_int("QUALIFY_ITEMS", 20)
QUALIFY_WITHIN_ONE = env_int("QUALIFY_WITHIN_ONE", 16)
QUALIFY_EXACT = env_int("QUALIFY_EXACT", 10)
QUALIFY_AGAIN_DAYS = env_int("QUALIFY_AGAIN_DAYS", 7)
# Staying one: so many of a hundred cards are agreed responses, or ones the rater had before; 0: none.
SEED_PERCENT = env_int("SEED_PERCENT", 0)
REPEAT_PERCENT = env_int("REPEAT_PERCENT", 0)
REPEAT_AFTER = env_int("REPEAT_AFTER", 50)  # cards
# More than so many of the last ten beyond their tolerance, and rating is paused, with these words.
SEED_MISSES = env_int("SEED_MISSES", 4)
SEED_EARLIER_RATINGS = env(
    "SEED_EARLIER_RATINGS",
    "Your earlier ratings stay, and somebody looks at those since the block before.",
)
# Of so many responses in a hundred, both raters are asked afterwards who made it; 0: nobody is.
GUESS_PERCENT = env_int("GUESS_PERCENT", 10)
# The names offered, on every such card alike: they say nothing about whose responses there are.
GUESS_MAKERS = env_list(
    "GUESS_MAKERS",
    "Alibaba, Anthropic, DeepSeek, Google, Meta, Microsoft, Mistral, OpenAI, xAI",
)
REST_OFFER_MINUTES = env_int("REST_OFFER_MINUTES", 50)  # of active reading; 0: never
# How far, in levels, a rater may lie from what was agreed before their maintainers take a look.
SEVERITY_TOLERANCE = env_float("SEVERITY_TOLERANCE", 0.5)
# The limits of an item, declared beforehand: two ratings of a response lie within one level at
# least this often, and its mean keeps so many levels away from either end of the scale.
ITEM_WITHIN_ONE_PERCENT = env_int("ITEM_WITHIN_ONE_PERCENT", 80)
ITEM_MEAN_MARGIN = env_float("ITEM_MEAN_MARGIN", 0.5)
SUPPORT_LINE = env("SUPPORT_LINE")
# Support lines by country, of which people choose theirs. See ``rating.support``.
SUPPORT_LINES_FILE = Path(
    env("SUPPORT_LINES_FILE", str(BASE_DIR / "fixtures" / "support_lines.toml"))
)

# Asking

OPENAI_API_KEY_ENV = env("OPENAI_API_KEY_ENV", "OPENAI_API_KEY")
ANTHROPIC_API_KEY_ENV = env("ANTHROPIC_API_KEY_ENV", "ANTHROPIC_API_KEY")
# Each of these three holds for a subject that states no limit of its own.
ASK_IN_FLIGHT = env_int("ASK_IN_FLIGHT", 32)
ASK_TIMEOUT_SECONDS = env_int("ASK_TIMEOUT_SECONDS", 120)  # for an attempt as a whole
ASK_IDLE_SECONDS = env_int("ASK_IDLE_SECONDS", 60)  # from one byte to the next
# How long the scripted demo subject takes over a reply, so that its progress can be watched.
DEMO_DELAY_MS = env_int("DEMO_DELAY_MS", 20)

# In a browser

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "font-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
HTTPS = env_bool("HTTPS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
CSRF_COOKIE_HTTPONLY = True  # pages carry the token: no script reads the cookie
if HTTPS:
    # No other host of the same domain can set these.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-session", "__Host-csrf"
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "compassion.views.form_too_old"
# A response may be long, and a rating comes with its quotes and note; nobody sends more than this.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
# Nor a larger file: what goes beyond is let go of as it comes, and never reaches a disk.
FILE_UPLOAD_HANDLERS = [
    "compassion.uploads.Bounded",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# How gunicorn serves it: see ``compassion.serving``.
WEB_BIND = env("WEB_BIND", "127.0.0.1:8000")
WEB_WORKERS = env_int("WEB_WORKERS", 2)  # processes: about as many as there are cores
WEB_THREADS = env_int("WEB_THREADS", 8)  # of each


# For programs

# By a token; and by an address, for all that comes without one or with a wrong one.
API_REQUESTS_A_MINUTE = env_int("API_REQUESTS_A_MINUTE", 600)
API_REQUESTS_A_MINUTE_BY_ADDRESS = env_int("API_REQUESTS_A_MINUTE_BY_ADDRESS", 300)
API_BODY_BYTES = env_int("API_BODY_BYTES", 8_000_000)
API_ROWS = env_int("API_ROWS", 1000)  # replies in one request
API_TOKEN_DAYS = env_int("API_TOKEN_DAYS", 90)  # unless its maker says otherwise

LANGUAGE_CODE = "en-gb"
TIME_ZONE = env("TIME_ZONE", "UTC")
USE_TZ = True

# Logs: one JSON object a line, or plain lines for a person at a terminal.

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "compassion.logs.RequestIdFilter"}},
    "formatters": {
        "json": {
            "()": "compassion.logs.Lines",
            "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s %(task_id)s",
            "rename_fields": {"asctime": "at", "levelname": "level", "name": "logger"},
        },
        "plain": {
            "()": "compassion.logs.Plain",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env("LOG_FORMAT", "json"),
            "filters": ["request_id"],
        }
    },
    "root": {"handlers": ["console"], "level": env("LOG_LEVEL", "INFO")},
    "loggers": {
        "django.server": {"handlers": ["console"], "propagate": False},
        # Below this they tell each header that is sent and received: keys, and what repeats them.
        **{name: {"level": "INFO"} for name in ("httpcore2", "httpx2", "openai")},
    },
}
