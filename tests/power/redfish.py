"""A Redfish service (sushy-tools' emulator) over HTTPS, on a loopback port, until it is ended.

Its fake machines take 1 to 11 s to change; here they take up to one second.  Arguments are
the emulator's.
"""

import sys

from sushy_tools.emulator import main
from sushy_tools.emulator.resources.systems import fakedriver


class Soon:
    """Chance, without any."""

    @staticmethod
    def randint(low, _high):
        return low


if __name__ == "__main__":
    fakedriver.random = Soon
    sys.exit(main.main())
