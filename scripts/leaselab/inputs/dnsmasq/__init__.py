"""A dnsmasq.conf of the user's own: the form in which the lab runs it, and the load that fits.

Pure: what it includes is read by the `files` that it gets.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, needs_of
from leaselab.inputs.dnsmasq.clients import Clients
from leaselab.inputs.dnsmasq.lab_form import DnsmasqForm
from leaselab.inputs.reader import Asked, Served, Text

FILES: tuple[str, ...] = ("dnsmasq.conf",)
HAS_VIEWS = False
RECOGNISED = re.compile(r"^[ \t]*dhcp-(?:range|host|option)\s*=", re.MULTILINE)


def read(configuration: Text, asked: Asked) -> Served:
    """Return what a dnsmasq.conf is as a server of the lab; as of `reader.Reader`."""
    text, files = configuration
    form = DnsmasqForm(text, files, asked.without)
    clients = Clients(form, asked.most_clients)
    words = {line.name: line.where for line in reversed(form.lines)}
    said, options = bounds("dnsmasq", needs_of("dnsmasq", words))
    return Served(
        kind="dnsmasq",
        server={"text": form.text, "files": form.files},
        options={**form.options, **options},
        changes=form.changes,
        left_out=form.left_out,
        load=f"dhcpv{form.family}",
        kinds=clients.kinds,
        addresses=clients.size,
        informs=clients.informs,
        # It may offer an address to two clients that ask at once.
        refuses=form.family == 4,
        releases=said,
        unserved=[*form.unserved, *clients.unserved],
    )
