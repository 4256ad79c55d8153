"""``python -m leaselab``."""

from leaselab.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
