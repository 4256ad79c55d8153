"""Small dhcpd.conf of a user, and what is said of their clients."""

from tests.own import refusals_of

from leaselab.inputs.own import read_own

SUBNET = "subnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.209; MORE }"
CIRCUITS = [1, "text:leaselab-{client}"]
"""A sub-option of option 82, other for each client."""
IN_A = 'pool { allow members of "a"; range 10.0.0.220 10.0.0.239; }'
VENDOR = "option vendor-class-identifier"


def made_of(tmp_path, text, without=()):
    """What is made of a configuration."""
    file = tmp_path / "small.conf"
    file.write_text(text, encoding="utf-8")
    return read_own(file, without)


def of(tmp_path, more="", top="", without=()):
    """What is made of a small configuration: one subnet, with more in it and before it."""
    return made_of(tmp_path, f"{top}\n{SUBNET.replace('MORE', more)}\n", without)


refusal = refusals_of(of)


def small(own, key="clients"):
    """What kinds of clients there are, without their subnet: names and one key."""
    return [
        (kind["name"].removeprefix("10.0.0.0/24").strip(", "), kind[key]) for kind in own.kinds
    ]


def reported_of(own):
    """What is said of clients without an answer, without the place."""
    return [line.partition(": ")[2].removeprefix("10.0.0.0/24: ") for line in own.unserved]
