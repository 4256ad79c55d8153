"""What named tells of itself: its counters, over HTTP on 127.0.0.1.

Counters that are still zero are left out by named, so they are added here.
"""

import http.client
import json

ANSWER_S = 0.8
RCODES = ("NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED")
"""Of the answers; clients count them as well, and could not tell a REFUSED from an answer."""
RECURSOR = ("QryRecursion",)
UPSTREAM = ("Queryv4",)
"""Of a recursor: queries that it had to ask others for, and what it asked them."""


def ask(config, seconds=ANSWER_S):
    """Return all that named tells, as a mapping; raises OSError or ValueError."""
    asking = http.client.HTTPConnection("127.0.0.1", config["statistics_port"], timeout=seconds)
    try:
        asking.request("GET", "/json/v1/server")
        return json.loads(asking.getresponse().read())
    except http.client.HTTPException as error:
        raise ValueError(f"statistics: {error or type(error).__name__}") from None
    finally:
        asking.close()


def counters(config, told):
    """Return the counters of a sample by named's own names."""
    found = {"QUERY": told["opcodes"]["QUERY"]}
    found |= {name: told["rcodes"].get(name, 0) for name in RCODES}
    if config["role"] == "recursive":
        found |= {name: told.get("nsstats", {}).get(name, 0) for name in RECURSOR}
        found |= {name: _resolver(told)["stats"].get(name, 0) for name in UPSTREAM}
    return found


def cached(config, told):
    """Return how many sets of records the cache has; None for one that has no cache.

    Negative and stale ones count: with them a query costs nothing, either.
    """
    return sum(_resolver(told)["cache"].values()) if config["role"] == "recursive" else None


def _resolver(told):
    return told["views"]["_default"]["resolver"]
