"""The key and the certificate of a server that is asked over TLS, made by openssl.

Its settings have `tls_file` then, where both are.  The key is of P-256, as of servers that make
theirs themselves; no client of the lab verifies the certificate.
"""

import os

from leaselab_contract import program
from leaselab_contract.errors import LabError

_MAKE = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
    *("-noenc", "-days", "3650", "-subj", "/CN=leaselab"),
)
MAKE_S = 20.0


def make(config):
    """Make them again, where the server wants them; raises LabError where that fails."""
    path = config.get("tls_file")
    if not path:
        return
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    argv = [*_MAKE, "-keyout", path, "-out", path]
    try:
        program.run(argv, "openssl", MAKE_S, error=LabError)
    except FileNotFoundError:
        raise LabError("no certificate can be made: openssl is missing; install it") from None
