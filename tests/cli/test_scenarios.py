"""`leaselab list --scenarios`: the project's own scenarios, whole outputs."""

import json
from pathlib import Path

from leaselab.cli.main import main
from leaselab.lab.catalog import match_scenarios

ROOT = Path(__file__).parents[2]

NAMES = ("v4-memfile", "v4-memfile-mt", "v6-memfile", "v6-memfile-mt")
WHAT = "Leases in memory and in a file on the server; no database"
DURABLE = "backend=mysql threading=single servers=none innodb_flush_log_at_trx_commit=1"
ONE = f"""\
scenario:
  name: v4-memfile-mt
  description: {WHAT}
  server:
    kind: kea
    options:
      backend: memfile
      memfile_persist: True
      lfc_interval_s: 3600
      lease_lifetime_s: 86400
      reclaim_wait_s: 10
      max_reclaim_leases: 100
      max_reclaim_ms: 250
      hold_reclaimed_s: 3600
      multi_threading: True
      threads: 4
      queue_size: 64
      allocator: iterative
      cache_threshold: 0.0
      hooks: lease_cmds
      classes: none
      class_count: 0
      subnets: 1
      subnets_in_network: 0
      pools_per_subnet: 1
      reservations: 0
      reservations_share: 0.0
      reservations_in: configuration
      reservations_scope: in-subnet
      reservations_by: hw-address
      reservations_identifiers: hw-address, duid, circuit-id, client-id
      poll_interval_s: 0.0
      poll_subnets: 0
      log_severity: WARN
      log_debug_level: 0
      log_sink: file
      configuration: -
      changed: -
      left_out: -
      pair_mode: none
      pair_heartbeat_s: 1.0
      pair_max_response_delay_s: 60.0
      pair_max_ack_delay_s: 10.0
      pair_max_unacked_clients: 10
      pair_listener_threads: 0
      pair_client_threads: 0
      pair_parked_packet_limit: 256
  partner: False
  support: None
  beside: -
  hosts: -
  generator: leaseload
  transaction:
    name: DHCPv4 exchange
    plural: exchanges
    stages: DISCOVER-OFFER, REQUEST-ACK
  load:
    family: 4
    relays: 1
    subnet: 10.0.0.0/8
    pool: 10.0.0.1 - 10.255.255.254
    want: address
  factors:
    protocol: DHCPv4
    backend: memfile
    threading: multi
    servers: none
  across: threading, servers
procedure:
  name: max-rate
  rounds: 3
  trim: 0
  loss_ratio: 0.025
  late_s: 2.0
  wait_s: 4.0
  warm_up_s: 1
  warm_up_rate: None
  reset: after-trial
  relative_width: 0.01
  trial_s: 5
  scout_s: 1
  min_rate: 10
  max_rate: 200000
  start_rate: 2000
  max_trials: 40
  confirm_s: 60
  limit: server
"""


def test_a_pipe_gets_a_scenario_a_line(capsys):
    assert main(["list", "--scenarios"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == sorted(
        line.partition("\t")[0] for line in lines
    )
    for name in NAMES:
        several = name.endswith("-mt")
        place = f"backend=memfile threading={'multi' if several else 'single'} servers=none"
        options = " multi_threading=True threads=4 queue_size=64" if several else ""
        assert f"{name}\tDHCPv{name[1]}\t{place}{options}" in lines
    assert f"v4-mysql-durable\tDHCPv4\t{DURABLE}" in lines
    threads = "backend=memfile threads=2 multi_threading=True queue_size=64"
    assert f"v4-threads-2\tDHCPv4\t{threads}" in lines
    assert "v6-avalanche-clients-5000\tDHCPv6\tclients=5000" in lines
    assert "v4-pool-use-flq-fill-0.999\tDHCPv4\tallocator=flq fill=0.999" in lines


def test_a_pipe_gets_every_scenario_whole_however_narrow_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["list", "--scenarios"]) == 0
    names = [scenario.name for scenario in match_scenarios(ROOT / "scenarios", ["*"])]
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert sorted(line[0] for line in lines) == sorted(names)
    assert {len(line) for line in lines} == {3}
    assert ["v4-mysql-durable", "DHCPv4", DURABLE] in lines


def test_factors_that_all_have_are_columns(capsys):
    assert main(["list", "--scenarios", "mysql"]) == 0
    lines = capsys.readouterr().out.splitlines()
    durable = DURABLE.rpartition(" ")[2]
    assert f"v4-mysql-durable\tDHCPv4\tmysql\tsingle\tnone\t{durable}" in lines


def test_a_pattern_lists_what_it_means(capsys):
    assert main(["list", "--scenarios", "v6-memfile-mt*"]) == 0
    names = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["v6-memfile-mt", "v6-memfile-mt-hs", "v6-memfile-mt-lb"]


def test_a_familys_name_lists_its_points_in_their_order_and_their_factors(capsys):
    assert main(["list", "--scenarios", "threads"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    places = ["v4 memfile", "v6 memfile", "v4-mysql mysql", "v4-postgresql postgresql"]
    assert [line[:4] for line in lines] == [
        [f"{place}-threads-{threads}", f"DHCPv{place[1]}", backend, str(threads)]
        for place, backend in map(str.split, places)
        for threads in (1, 2, 4, 6, 8, 12)
    ]


def test_one_shows_what_it_sets_beside_its_server(capsys):
    assert main(["show", "--scenario", "v4-mysql-durable"]) == 0
    shown = capsys.readouterr().out
    assert (
        f"  beside:\n    mysql:\n      {DURABLE.rpartition(' ')[2].replace('=', ': ')}\n"
        in shown
    )


def test_all_of_them_as_json(capsys):
    assert main(["list", "--scenarios", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(NAMES) <= set(found)
    assert found["v6-memfile"]["load"]["family"] == 6
    assert found["v4-memfile"]["server"]["options"]["multi_threading"] is False


def test_one_as_it_would_be_run(capsys):
    assert main(["show", "--scenario", "v4-memfile-mt", "--parameters", '{"rounds": 3}']) == 0
    assert capsys.readouterr().out == ONE


def test_one_as_json_is_what_a_deployment_reads(capsys):
    assert main(["show", "--scenario", "v4-memfile", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.keys() == {"scenario", "procedure"}
    assert document["procedure"]["rounds"] == 9
