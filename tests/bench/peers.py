"""Other packages of statistics, installed for a measurement alone.

They are never imported by the product or its tests: some are under the GPL, some name no licence,
and one would hold NumPy back. So each is put in a folder of its own, without what it asks for.
"""

import subprocess
import sys

from django.conf import settings

PEERS = (
    "krippendorff==0.9.0",
    "irrCAC==0.4.4",
    "scikit-learn==1.9.1",
    "statsmodels==0.15.0",
    # what these import
    "cloudpickle",
    "joblib",
    "pandas",
    "patsy",
    "python-dateutil",
    "six",
    "threadpoolctl",
)


def installed() -> bool:
    """Whether the peers can be imported from now on. Installs them where they are not."""
    folder = settings.VAR_DIR / "bench-peers"
    if not (folder / "statsmodels").is_dir():
        print(f"installing {', '.join(PEERS[:4])} in {folder}")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        got = subprocess.run(
            [*pip, "--no-deps", "--target", str(folder), *PEERS], capture_output=True, text=True
        )
        if got.returncode:
            print(f"They could not be installed, so ours stands alone: {got.stderr.strip()[-300:]}")
            return False
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that NumPy and SciPy are the product's
    return True
