"""Programs that a contract runs to their end, such as a server's own control program."""

import subprocess

from leaselab_contract.errors import ContractError, last_line
from leaselab_contract.process import ENVIRONMENT


def run(
    argv, what, seconds, *, error=ContractError, text="", into=subprocess.PIPE, **environment
):
    """Run a program with a text on its standard input; return what it prints.

    Raises `error`, which begins with `what`, where it fails or takes longer.
    """
    try:
        done = subprocess.run(
            argv,
            input=text,
            stdout=into,
            stderr=subprocess.PIPE,
            text=True,
            timeout=seconds,
            check=False,
            env={**ENVIRONMENT, **environment},
        )
    except subprocess.TimeoutExpired:
        raise error(f"{what}: no answer within {seconds:g} s") from None
    if done.returncode != 0:
        raise error(f"{what}: {last_line(done.stderr, done.stdout or '')}")
    return done.stdout
