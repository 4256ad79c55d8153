"""A dhcpd.conf of the user's own: the form in which the lab runs it, and the load that fits.

Pure: reads the text of a file, and touches nothing.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, releases_of
from leaselab.inputs.dhcpd.clients import Clients
from leaselab.inputs.dhcpd.lab_form import LabForm
from leaselab.inputs.dhcpd.statements import every, parsed, text_of

FILES = ("dhcpd.conf", "dhcpd6.conf")
RECOGNISED = re.compile(
    r"^[^\S\n]*(?:(?:subnet6?|shared-network)\s+\S+[^;]*\{|default-lease-time\s+\d+\s*;)",
    re.MULTILINE | re.IGNORECASE,
)


def read(text, without, most_clients, files, leases):
    """Return what a configuration is as a server of the lab, as `leaselab.inputs.own` has it.

    `files` has its file and reads others that it includes; `without` are the words for what
    is to be left out of it; `leases` fill it, None for none.  Raises a usage error with the
    line for what is no configuration, or that the lab cannot have.
    """
    form = LabForm(parsed(text, str(files.file)), without, files)
    clients = Clients(form.statements, form.family, most_clients, leases)
    words = {
        one.words[1].lower(): one.spot
        for one in every(form.statements)
        if one.name == "option" and one.words[2:3] != ("code",)
    }
    said, options = bounds("isc_dhcpd", releases_of("isc_dhcpd").known(words))
    return {
        "server": {"text": text_of(form.statements)},
        "options": {**form.options, **options},
        "changes": form.changes,
        "left_out": form.left_out,
        "load": f"dhcpv{form.family}",
        "kinds": clients.kinds,
        "addresses": clients.size,
        "informs": clients.informs,
        "unserved": clients.unserved,
        "filling": clients.filling,
        "releases": said,
    }
