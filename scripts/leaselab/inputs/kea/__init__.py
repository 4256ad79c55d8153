"""A configuration of the user's own: the form in which the lab runs it, and the load that fits.

Pure: reads what `leaselab.inputs.own` has parsed, and touches nothing.
"""

from __future__ import annotations

from leaselab.inputs.kea.clients import Clients
from leaselab.inputs.kea.filling import fill
from leaselab.inputs.kea.lab_form import LabForm
from leaselab.inputs.kea.releases import releases

FILES = ("kea-dhcp4.conf", "kea-dhcp6.conf")


def read(configuration, without, most_clients, leases, unread):
    """Return what a configuration is as a server of the lab, as `leaselab.inputs.own` has it.

    `without` are the words for what is to be left out of it; `leases` fill it, None for none;
    `unread` are the errors of files that it includes and that are not here.  Raises a usage
    error for what the lab cannot have.
    """
    form = LabForm(configuration, without, unread)
    filling = fill(form, leases, configuration.whole.spot) if leases else None
    clients = Clients(configuration, form, most_clients, filling)
    said, bounds = releases(configuration, form.server)
    load = "dhcpv4" if form.family == 4 else "dhcpv6"
    return {
        "server": form.server,
        "options": {**form.options, **bounds},
        "beside": form.beside,
        "changes": form.changes,
        "left_out": form.left_out,
        "load": load,
        "kinds": clients.kinds,
        "addresses": clients.addresses,
        "informs": clients.informs,
        "unserved": clients.unserved,
        "filling": filling,
        "releases": said,
    }
