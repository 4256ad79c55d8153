"""A dnsmasq.conf of the user's own: the form in which the lab runs it, and the load that fits.

Pure: what it includes is read by the `files` that it gets.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, releases_of
from leaselab.inputs.dnsmasq.clients import Clients
from leaselab.inputs.dnsmasq.lab_form import LabForm

FILES = ("dnsmasq.conf",)
RECOGNISED = re.compile(r"^[ \t]*dhcp-(?:range|host|option)\s*=", re.MULTILINE)


def read(text, without, most_clients, files, _leases):
    """Return what a configuration is as a server of the lab, as `leaselab.inputs.own` has it.

    `files` has its file and reads others that it names; `without` are the words for what is
    to be left out of it.  Raises a usage error with the line for what the lab cannot have.
    """
    form = LabForm(text, str(files.file), without, files)
    clients = Clients(form, most_clients)
    words = {line.name: line.where for line in reversed(form.lines)}
    said, options = bounds("dnsmasq", releases_of("dnsmasq").known(words))
    return {
        "server": {"text": form.text, "files": form.files},
        "options": {**form.options, **options},
        "changes": form.changes,
        "left_out": form.left_out,
        "load": f"dhcpv{form.family}",
        "kinds": clients.kinds,
        "addresses": clients.size,
        "informs": clients.informs,
        # It may offer an address to two clients that ask at once.
        "refuses": form.family == 4,
        "releases": said,
        "unserved": [*form.reasons("constructor"), *form.stateless, *clients.unserved],
    }
