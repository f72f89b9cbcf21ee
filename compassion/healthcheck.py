"""Ask an address whether it is well: for containers, which bring no curl."""

import os
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

PATIENCE = 4  # seconds, less than a container waits


def main(address: str) -> int:
    """0 if the address answers 200, else 1 with the reason on stderr."""
    request = urllib.request.Request(
        # A service that redirects to HTTPS or checks its host's name is asked as a proxy asks it.
        address,
        headers={
            "X-Forwarded-Proto": "https",
            "Host": os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip() or "localhost",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, OSError) as why:
        print(f"{urlsplit(address).path}: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
