"""A configuration of the user's own: the form in which the lab runs it, and the load that fits.

Pure: reads what `leaselab.inputs.user_configuration` has parsed, and touches nothing.
"""

from __future__ import annotations

from leaselab.inputs.kea.clients import Clients
from leaselab.inputs.kea.filling import fill
from leaselab.inputs.kea.lab_form import KeaForm
from leaselab.inputs.kea.releases import releases
from leaselab.inputs.reader import Asked, Served, Tree

FILES: tuple[str, ...] = ("kea-dhcp4.conf", "kea-dhcp6.conf")
HAS_VIEWS = False


def read(configuration: Tree, asked: Asked) -> Served:
    """Return what a configuration of Kea is as a server of the lab; as of `reader.Reader`."""
    tree, unread = configuration
    form = KeaForm(tree, asked.without, unread)
    filling = fill(form, asked.leases, tree.whole.spot) if asked.leases else None
    clients = Clients(tree, form, asked.most_clients, filling)
    said, bounds = releases(tree, form.server)
    return Served(
        kind="kea",
        holder=tree.name,
        server=form.server,
        options={**form.options, **bounds},
        beside=form.beside,
        changes=form.changes,
        left_out=form.left_out,
        load=f"dhcpv{form.family}",
        kinds=clients.kinds,
        addresses=clients.addresses,
        informs=clients.informs,
        unserved=clients.unserved,
        filling=filling,
        releases=said,
    )
