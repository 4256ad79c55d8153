"""The releases of Kea that take a configuration, by what not all of them have."""

from __future__ import annotations

from leaselab.lab.known_costs import known_costs, numbers

NUMBERED = "2.6"
"""The first release that numbers no subnet itself."""


def releases(configuration, server):
    """Return which releases take what the lab keeps of a configuration.

    Each is said with its reason; with them come the first of them and the first that does not,
    as options of the scenario.  `server` is what the lab keeps.
    """
    family, kept = configuration.name.removeprefix("Dhcp"), set(_keys(server))
    first, last = [], []
    for match, since, until in known_costs()["kea"].released(configuration):
        word = match.path.rpartition(".")[2]
        if word in kept:
            reason = f"{word} ({match.spot})"
            first += [(since, reason)] if since else []
            last += [(until, reason)] if until else []
    word = f"subnet{family}[*]"
    for match in configuration.at(word, f"shared-networks[*].{word}"):
        if "id" not in match.value:
            last.append((NUMBERED, f"a subnet without id ({match.spot})"))
    made, bounds = [], {}
    if first:
        release, reason = max(first, key=lambda one: numbers(one[0]))
        made.append(f"Kea {release} or newer: {reason}")
        bounds["since"] = release
    if last:
        release, reason = min(last, key=lambda one: numbers(one[0]))
        made.append(f"Kea before {release}: {reason}")
        bounds["until"] = release
    return made, bounds


def _keys(value):
    """All keys of objects in a value."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _keys(inner)
