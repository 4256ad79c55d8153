"""named's statistics: its counters, over HTTP on 127.0.0.1.

Counters that are still zero are left out by named, so they are added here.
"""

import http.client
import json

ANSWER_S = 0.8
RCODES = ("NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED")
"""Codes of the answers that are counted: clients may count a REFUSED as an answer."""
RECURSOR = ("QryRecursion",)
UPDATES = ("UpdateDone", "UpdateFail", "UpdateQuota")
"""Of updates: carried out, failed, and dropped as too many were waiting (update-quota)."""
UPSTREAM = ("Queryv4",)
"""Of a recursor: client queries that needed recursion, and queries to other servers."""


def ask(config, seconds=ANSWER_S, part="server"):
    """Return a part of named's statistics as a mapping; raises OSError or ValueError."""
    asking = http.client.HTTPConnection("127.0.0.1", config["statistics_port"], timeout=seconds)
    try:
        asking.request("GET", f"/json/v1/{part}")
        return json.loads(asking.getresponse().read())
    except http.client.HTTPException as error:
        raise ValueError(f"statistics: {error or type(error).__name__}") from None
    finally:
        asking.close()


def counters(config, answer):
    """Return the counters of a sample by named's own names."""
    counts = {"QUERY": answer["opcodes"]["QUERY"]}
    counts |= {name: answer["rcodes"].get(name, 0) for name in RCODES}
    if config["role"] == "recursive":
        counts |= {name: answer.get("nsstats", {}).get(name, 0) for name in RECURSOR}
        counts |= {name: _resolver(answer)["stats"].get(name, 0) for name in UPSTREAM}
    if config.get("made_folder"):
        counts |= {"UPDATE": answer["opcodes"]["UPDATE"]}
        counts |= {name: answer["nsstats"].get(name, 0) for name in UPDATES}
    return counts


def serials(config, seconds):
    """Return the serial number of each of its zones, by name."""
    zones = ask(config, seconds, "zones")["views"]["_default"]["zones"]
    return {zone["name"]: zone["serial"] for zone in zones}


def cached(config, answer):
    """Return how many sets of records the cache has; None for one that has no cache.

    Negative and stale sets count: a query that they answer costs no recursion either.
    """
    return sum(_resolver(answer)["cache"].values()) if config["role"] == "recursive" else None


def _resolver(answer):
    return answer["views"]["_default"]["resolver"]
