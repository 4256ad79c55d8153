"""What commands do to the hosts of a bench: the one seam between their order and the lab."""

from __future__ import annotations

from leaselab.lab.bench.lease import leased as held
from leaselab.run.building import build_commit
from leaselab.run.instruments import connected
from leaselab.run.preparation import leased, prepare
from leaselab.run.variants import deploy, give_back, install, tune


class Workshop:
    """The lab as it is; a test has another one in its place."""

    hold = staticmethod(held)
    lease = staticmethod(leased)
    prepare = staticmethod(prepare)
    build = staticmethod(build_commit)
    deploy = staticmethod(deploy)
    install = staticmethod(install)
    tune = staticmethod(tune)
    give_back = staticmethod(give_back)
    connect = staticmethod(connected)


LAB = Workshop()


def the_lab() -> Workshop:
    """Return that of all commands."""
    return LAB
