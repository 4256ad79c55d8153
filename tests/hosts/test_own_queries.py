"""A user's own zones and queries on the hosts: role dns_data as Ansible plays it here."""

import hashlib
import json
from pathlib import Path

from tests.plays import play_here

from leaselab.inputs.queries.zones import keep_zones, read_zone

ROOT = Path(__file__).parents[2]
ZONE = "$TTL 60\n$ORIGIN a.test.\n@ SOA ns root 1 1 1 1 1\n@ NS ns\nns A 192.0.2.1\n"
LINES = b"ns.a.test. A\na.test. NS\n"


def test_zones_and_queries_of_a_user_come_to_the_hosts(tmp_path):
    """Twice: a second play says the same of them."""
    kept, checkout = tmp_path / "kept", tmp_path / "checkout"
    kept.mkdir()
    (checkout / "ansible").mkdir(parents=True)
    (checkout / "roles").symlink_to(ROOT / "roles")
    (tmp_path / "zone").write_text(ZONE, encoding="ascii")
    zones = keep_zones(kept, [read_zone(str(tmp_path / "zone"))])
    queries = hashlib.sha256(LINES).hexdigest()
    (kept / f"{queries}.lines").write_bytes(LINES)
    given = {
        "dns_data_kept": str(kept),
        "dns_data_folder": str(tmp_path / "data"),
        "dns_data_program_folder": str(tmp_path / "program"),
    }
    own = {"dns_data_kind": "own", "dns_data_size": 3, "dns_data_zone_files": zones}
    asked = {"dns_data_query_file": queries, "dns_data_names": "listed", "dns_data_count": 2}
    tasks = [
        {
            "ansible.builtin.include_role": {"name": "dns_data", "tasks_from": part},
            "vars": {**given, **own, **asked},
        }
        for part in ("zones", "queries")
    ]
    reported = [tmp_path / name for name in ("first.json", "second.json")]
    what = "{{ [dns_data_zones, dns_data_queries] | to_json }}"
    keeps = [{"keep": {"content": what, "dest": str(path)}} for path in reported]
    play_here(checkout / "ansible", [*tasks, keeps[0], *tasks, keeps[1]])
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in reported)
    of_zones, of_queries = second
    assert first == second
    folder = Path(of_zones["folder"])
    assert (folder / "zones.tsv").read_text(encoding="ascii") == "a.test.\t0.zone\n"
    assert (folder / "0.zone").read_text(encoding="ascii") == ZONE
    assert (folder / "0.zone").stat().st_mtime > 0  # or NSD reads none
    assert (of_zones["zones"], of_zones["records"]) == (1, 3)
    assert Path(of_queries["file"]).read_bytes() == LINES
    assert (of_queries["queries"], of_queries["distinct"]) == (2, 2)
