"""How property tests run here."""

import os

from hypothesis import settings

# No deadline for one example: the machine may be busy measuring.  CI tries the same
# examples each time, so that a commit passes or fails by what it changes; on a desk they
# differ each time, which is how new ones are found.
settings.register_profile("desk", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "desk")
