"""The command behind scripts/ci/words."""

from __future__ import annotations

import sys
from pathlib import Path

from ci.wordcheck.findings import files, findings

ROOT = Path(__file__).parents[3]


def main() -> int:
    """Print what is found; the exit code."""
    hits = list(findings(ROOT, files(ROOT)))
    sys.stdout.writelines(f"{hit}\n" for hit in hits)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
