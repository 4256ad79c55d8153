"""The variants of a server on a prepared bench: deployed and tuned, or left unchanged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import msgspec

from leaselab.archive.running import BENCH_FILE
from leaselab.catalog.checkout import checkout_root
from leaselab.lab.contract.servers import can_have_company
from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures import AnyProcedure
from leaselab.model.scenario import Scenario
from leaselab.model.speech import say
from leaselab.run.preparation import LeasedBench, play

PLACES = (1, 2)
"""The addresses on the test network at which variants of the same build can be up."""


def deploy(
    chosen: Scenario,
    bench: LeasedBench,
    procedure: AnyProcedure,
    build_key: str = "",
    *,
    generator_build: str = "",
    distribution: str = "",
    full: bool = True,
    keep: Sequence[str] = (),
    places: Sequence[int] = PLACES[:1],
    ahead: Sequence[str] = (),
) -> list[Bench]:
    """Deploy and tune a scenario on a prepared bench; return its bench at each address.

    `build_key` is that of `build_commit`; without it, the distribution's packages are used, in
    the version of the inventory or, on a requested `distribution`, in its own version.
    `generator_build` is the build of the generator; without it, the packaged or installed one
    is used.  `places` on the test network are the first, or both `PLACES`: the second is left
    out where the server cannot be up at both at once (`servers.can_have_company`).
    Deployed variants to `keep` are never removed for others.  Unless `full`, playbooks are
    skipped for an address where the last deployment was the same and is still valid.  Builds
    `ahead` are deployed by the same playbooks, where these are played: what does not depend on
    the build is done once, and their own deployment, which follows, is still valid.
    """
    root, inventory = checkout_root(), bench.inventory
    asked = (msgspec.to_builtins(chosen), generator_build, distribution)
    # What a host needs for it is installed as the server is deployed.
    also = [procedure.name] if procedure.samples or procedure.counts_alone else []

    def key_of(build: str, at: int) -> str:
        return deployment.digest(*asked, build, at, *also)

    record = deployment.read_deployment(root, inventory.bench)
    as_tuned = record is not None and record.settings == chosen.hosts
    there: Mapping[str, Bench] = {}
    if not full and record is not None and as_tuned:
        there = record.benches
    keys = {at: key_of(build_key, at) for at in places}
    lying = {at: there[key] for at, key in keys.items() if key in there}
    if lying and record and not deployment.stands(record, inventory, record.played):
        lying = {}
    missing = _missing(places, lying)
    lying = {at: replace(there, procedure=procedure) for at, there in lying.items()}
    if not missing:
        say(f"{chosen.name}: deployed as it was")
        return list(lying.values())
    deployment.forget_deployment(root, inventory.bench)
    variables = _deploying(chosen, procedure, build_key)
    builds = [build_key, *(key for key in ahead if key_of(key, missing[0]) not in there)]
    if len(builds := list(dict.fromkeys(builds))) > 1:
        variables["leaselab_builds"] = builds
    if generator_build:
        variables["leaselab_generator_build"] = generator_build
    if distribution:
        variables[f"{chosen.server.kind}_version"] = ""
    variables["leaselab_places"] = missing
    variables["leaselab_keep"] = [*keep, *(there.server.variant for there in lying.values())]
    try:
        made = _tuned(bench, variables, distribution, "deploy", "tune")
    except LeaselabError as error:
        # Refused before anything was changed; `stands` checks that.
        if record is not None and error.outcome is Outcome.USAGE:
            deployment.write_deployment(root, inventory.bench, record)
        raise
    of = [(build, at) for at in missing for build in builds]
    done = {key_of(*one): bench for one, bench in zip(of, made, strict=False)}
    benches = {**lying, **{at: done[keys[at]] for at in missing if keys[at] in done}}
    if record is not None:
        others = record.benches.items() if as_tuned else ()
        names = deployment.variants_there(inventory)
        stay = {
            key: placed
            for key, placed in others
            if _same_generator(placed, generator_build) and placed.server.variant in names
        }
        deployed = replace(
            record,
            hosts=deployment.host_states(inventory),
            settings=chosen.hosts,
            benches={**stay, **{keys[at]: placed for at, placed in lying.items()}, **done},
        )
        deployment.write_deployment(root, inventory.bench, deployed)
    return [benches[at] for at in places if at in benches]


def _missing(places: Sequence[int], lying: Mapping[int, Bench]) -> list[int]:
    """The free addresses among some, at which the deployed variants can also be up."""
    missing = [at for at in places if at not in lying]
    first = lying.get(places[0])
    alone = first is not None and not can_have_company(first)
    return [] if alone else missing


def _same_generator(deployed: Bench, build_key: str) -> bool:
    """Whether the generator of another deployment is still installed, after that of a build.

    A host keeps one build of a generator.
    """
    known = deployed.generator.build or {}
    return not build_key or known.get("key", build_key) == build_key


def install(
    scenario: Scenario, bench: LeasedBench, procedure: AnyProcedure, build_key: str = ""
) -> None:
    """Install a scenario's server on a prepared bench and check that it serves."""
    with _still_prepared(bench.inventory):
        chosen = _deploying(scenario, procedure, build_key)
        play("deploy", bench.inventory, chosen, bench.lease)


def tune(
    scenario: Scenario, bench: LeasedBench, procedure: AnyProcedure, build_key: str = ""
) -> Bench:
    """Tune the hosts of a deployed scenario; return it."""
    with _still_prepared(bench.inventory, scenario.hosts):
        tuned, *_ = _tuned(bench, _deploying(scenario, procedure, build_key), "", "tune")
        return tuned


def give_back(bench: LeasedBench) -> None:
    """Tune hosts to the settings of their inventory, after scenarios that changed some."""
    with _still_prepared(bench.inventory, {}):
        play("retune", bench.inventory, {}, bench.lease)


@contextmanager
def _still_prepared(
    inventory: Inventory, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[None]:
    """Change the deployment; hosts that were prepared stay so unless an error occurs.

    `settings` are those of the hosts afterwards, None where they are unchanged.
    """
    root = checkout_root()
    record = deployment.read_deployment(root, inventory.bench)
    deployment.forget_deployment(root, inventory.bench)
    yield
    if record is not None:
        changed = replace(
            record,
            hosts=deployment.host_states(inventory),
            settings=record.settings if settings is None else settings,
            benches={},
        )
        deployment.write_deployment(root, inventory.bench, changed)


def _deploying(
    scenario: Scenario, procedure: AnyProcedure, build_key: str = ""
) -> dict[str, Any]:
    """The variables of `deploy` and `tune`."""
    return {
        "scenario": scenario.name,
        "leaselab_generator": scenario.generator,
        "leaselab_procedure": msgspec.to_builtins(procedure),
        **({"leaselab_build": build_key} if build_key else {}),
    }


def _tuned(
    bench: LeasedBench, variables: Mapping[str, Any], distribution: str, *playbooks: str
) -> list[Bench]:
    """Run playbooks that end with `tune`; return its bench documents, at least one."""
    # A folder for each bench: commands on several of them run at the same time.
    first = checkout_root() / ".leaselab" / "benches" / bench.inventory.bench / BENCH_FILE
    shutil.rmtree(first.parent, ignore_errors=True)
    first.parent.mkdir(parents=True)
    chosen = {**variables, "bench_file_path": str(first)}
    play(playbooks, bench.inventory, chosen, bench.lease)
    further = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    return [
        replace(
            parse_bench(json.loads(path.read_text(encoding="utf-8")), str(path)),
            distribution=distribution,
        )
        for path in (first, *takewhile(Path.exists, further))
    ]
