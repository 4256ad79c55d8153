"""A dhcpd.conf of the user's own: the form in which the lab runs it, and the load that fits.

Pure: reads the text of a file, and touches nothing.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, needs_of
from leaselab.inputs.dhcpd.clients import Clients
from leaselab.inputs.dhcpd.lab_form import DhcpdForm
from leaselab.inputs.dhcpd.statements import every, parsed, text_of
from leaselab.inputs.reader import Asked, Served, Text

FILES: tuple[str, ...] = ("dhcpd.conf", "dhcpd6.conf")
HAS_VIEWS = False
RECOGNISED = re.compile(
    r"(?:^|[;{}])[^\S\n]*(?:(?:subnet6?|shared-network)\s+\S+[^;]*\{|default-lease-time\s+\d+\s*;)",
    re.MULTILINE | re.IGNORECASE,
)


def read(configuration: Text, asked: Asked) -> Served:
    """Return what a dhcpd.conf is as a server of the lab; as of `reader.Reader`."""
    text, files = configuration
    form = DhcpdForm(parsed(text, str(files.file)), asked.without, files)
    clients = Clients(form.statements, form.family, asked.most_clients, asked.leases)
    words = {
        one.words[1].lower(): one.spot
        for one in every(form.statements)
        if one.name == "option" and one.words[1:] and one.words[2:3] != ("code",)
    }
    said, options = bounds("isc_dhcpd", needs_of("isc_dhcpd", words))
    return Served(
        kind="isc_dhcpd",
        server={"text": text_of(form.statements)},
        options={**form.options, **options},
        changes=form.changes,
        left_out=form.left_out,
        load=f"dhcpv{form.family}",
        kinds=clients.kinds,
        addresses=clients.size,
        informs=clients.informs,
        unserved=clients.unserved,
        filling=clients.filling,
        releases=said,
    )
