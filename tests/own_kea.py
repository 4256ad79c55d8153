"""Configurations of Kea of a user, and the clients that are made for them."""

from tests.own import DATA

from leaselab.inputs.own import read_own

GLOBAL = '"reservations-global": true,'
WITHOUT = {"isp": ["hook:radius"], "pair": ["hook:ha"]}


def own(name):
    return read_own(DATA / f"{name}.conf", WITHOUT.get(name, ()))


def of(tmp_path, subnet="", top="", family=4, pool=""):
    """What is made of a small configuration: one subnet, with more in and beside it."""
    prefix, range_ = {
        4: ("10.0.0.0/24", "10.0.0.100 - 10.0.0.199"),
        6: ("2001:db8::/48", "2001:db8::/64"),
    }[family]
    file = tmp_path / "small.conf"
    file.write_text(
        f'{{"Dhcp{family}": {{{top} "subnet{family}": [{{"id": 1, "subnet": "{prefix}", '
        f'{subnet} "pools": [{{{pool} "pool": "{range_}"}}]}}]}}}}',
        encoding="utf-8",
    )
    return read_own(file)


def kinds(own, word):
    return [kind for kind in own.kinds if word in kind["name"]]


def in_class(tmp_path, test, family=4):
    """The one kind of clients of a subnet that asks for a class with this test."""
    top = f'"client-classes": [{{"name": "it", "test": "{test}"}}],'
    made = of(tmp_path, '"client-class": "it",', top, family)
    [kind] = made.kinds
    return kind


def hosts(number, *more, first=0, by="hw-address"):
    """Reservations of so many clients, each with more in it: text that may name its number."""
    return ", ".join(
        "{"
        + ", ".join([f'"{by}": "00:00:5e:00:53:{at:02x}"', *more]).replace("@", str(at))
        + "}"
        for at in range(first, first + number)
    )


def clients(made, word=""):
    return sum(kind["clients"] for kind in kinds(made, word))
