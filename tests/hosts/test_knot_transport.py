"""Which transports role knot deploys, by the version that the host has."""

import json
from pathlib import Path

import yaml
from tests.plays import play_here

CONFIGURE = Path(__file__).parents[2] / "roles/knot/tasks/configure.yml"
CASES = {
    "dot by 3.2": ("3.2.6", "dot"),
    "tcp by 3.2": ("3.2.6", "tcp"),
    "dot by 3.4": ("3.4.6", "dot"),
}


def test_tls_is_refused_where_this_knot_lacks_it(tmp_path):
    tasks = yaml.safe_load(CONFIGURE.read_text("utf-8"))
    name = "Check that this Knot has the transport"
    (check,) = (task for task in tasks if task["name"] == name)
    plays = []
    for case, (version, transport) in CASES.items():
        given = {"knot_seen": version}
        said, nothing = (
            {"keep": {"dest": str(tmp_path / f"{case}.json"), "content": content}}
            for content in ("{{ ansible_failed_result.msg | to_json }}", '""')
        )
        block = {"block": [check, nothing], "rescue": [said]}
        plays.append({**block, "vars": {**given, "knot_transport": transport}})
    play_here(tmp_path, plays)
    said = {case: json.loads((tmp_path / f"{case}.json").read_text("utf-8")) for case in CASES}
    assert said["dot by 3.2"].startswith("Knot answers over TLS since 3.4. Found: 3.2.6.")
    assert (said["tcp by 3.2"], said["dot by 3.4"]) == ("", "")
