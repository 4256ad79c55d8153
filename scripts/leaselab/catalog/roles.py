"""What roles declare: the options that a scenario may set, and facts that the lab needs.

Each option is declared once, in its role's ``meta/argument_specs.yml``: those of a server that
a scenario may set in the entry point ``scenario``, and so are those of a host; those of what
serves beside it, such as a database, in ``tune``.  Its default is in ``defaults/main.yml``.
Scenarios and inventories name options without and with the role's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jinja2
import yaml
from msgspec import Struct
from msgspec.structs import replace

from leaselab.catalog.decoding import build
from leaselab.catalog.documents import LOADER
from leaselab.model.errors import unknown, usage_error
from leaselab.model.pool import check_pool
from leaselab.model.scenario import Scenario, ServerOptions

ROLES = Path(__file__).resolve().parents[3] / "roles"
"""They belong to the code that reads them, so they lie in the same checkout."""
RECIPES = ROLES / "build/files/recipes"
"""Programs that build commits, each with the name of what it builds."""
SERVERS = "server"
"""The role that all servers share; its entry point ``check`` has options of all of them."""
GENERATORS = "generator"
"""The same of those of generators; entry point ``queries`` has keys of a load of queries."""
OWN_GENERATOR = "leaseload"
"""The generator whose source is a folder of the project (load/)."""
_TYPES = {"bool": bool, "int": int, "float": float, "str": str, "list": list, "dict": dict}

OF_EVERY_SERVER = {"transport": ("udp", "tcp"), "updates": (0,)}
"""Values of a load's keys that need nothing of a server; its role declares those that do."""

Options = Mapping[str, Mapping[str, Any]]
"""What is declared of options (type, choices, default), by their names without the role's."""


class LabRole(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the lab must know of a role, from its ``vars/lab.yml``."""

    part: Literal["server", "beside", "generator", "host"]
    """What it installs: a server under test, a companion service of one, or a generator; or
    that it sets hosts."""
    programs: tuple[str, ...]
    """Its programs; none of them may run when a bench is prepared."""
    profiles: tuple[str, ...] = ()
    """Names of the AppArmor profiles that may confine them."""
    ports: tuple[int, ...] = ()
    """UDP ports that it serves."""
    hears_anybody: bool = False
    """Of a generator: whether its clients take a reply of any DHCP server, so that the test
    network is watched for those that are not the bench's."""
    supports: bool = False
    """Whether it can serve on the partner's host for the server under test (`support` of a
    scenario), behind the server contract there; its options: entry point ``scenario``."""
    packages: Mapping[str, tuple[str, ...]] = {}
    """Packages whose version is asked for, by whose they are (``distribution``, ``isc``)."""
    apart: str = ""
    """Why scenarios that ask for different settings of it cannot lie side by side; empty where
    they can."""


@cache
def lab_roles() -> Mapping[str, LabRole]:
    """Every role of a server, of a companion service, and of a generator, by name."""
    roles = {}
    for path in sorted(ROLES.glob("*/vars/lab.yml")):
        name = path.parents[1].name
        roles[name] = build(LabRole, read_yaml(path)[f"{name}_lab"], f"role {name}")
    return roles


def hears_anybody(generator: str) -> bool:
    """Whether a generator, by name, takes replies of any server: what its role declares."""
    role = lab_roles().get(generator)
    return role is not None and role.hears_anybody


def roles_of(part: str) -> list[str]:
    """Names of the roles of one `LabRole.part`, sorted."""
    return [name for name, role in lab_roles().items() if role.part == part]


def built_generators() -> list[str]:
    """Names of the generators that can be built from a commit: they have a recipe.

    The project's own is built of the project, not of a repository that is named.
    """
    return [
        name
        for name in roles_of("generator")
        if name != OWN_GENERATOR and (RECIPES / name).is_file()
    ]


@cache
def options_of(role: str, entry_point: str) -> Options:
    """The options of a role's entry point; none where it has no such entry point."""
    specs = read_yaml(ROLES / role / "meta" / "argument_specs.yml")["argument_specs"]
    defaults = _defaults(role)
    return {
        name.removeprefix(f"{role}_"): {**option, "default": defaults.get(name)}
        for name, option in specs.get(entry_point, {}).get("options", {}).items()
    }


@cache
def _defaults(role: str) -> Mapping[str, Any]:
    """The default of each option of a role that is not required."""
    path = ROLES / role / "defaults" / "main.yml"
    return (read_yaml(path) or {}) if path.exists() else {}


def debian_releases(role: str) -> list[str]:
    """The Debian releases that a role is for, oldest first."""
    about = read_yaml(ROLES / role / "meta" / "main.yml")["galaxy_info"]
    return [str(name) for platform in about["platforms"] for name in platform["versions"]]


def resolved(scenario: Scenario, where: str) -> Scenario:
    """Return a scenario with every option of its server: the role's default where it sets none.

    A result repeats its scenario, and would claim what was never configured: raises a usage
    error for a server, generator, option or value that no role declares, and for options that
    do not go together.  `where` says which file and scenario.
    """
    kind = scenario.server.kind
    _one_of(kind, "kind of server", roles_of("server"), where)
    _one_of(scenario.generator, "generator", roles_of("generator"), where)
    serving = {**options_of(SERVERS, "check"), **options_of(kind, "main")}
    wanting = {
        "partner": scenario.partner,
        "beside": scenario.beside,
        "support": scenario.support,
    }
    for name, asks in wanting.items():
        if asks and name not in serving:
            raise usage_error(
                f"{kind} does not support this part of the scenario",
                where=where,
                found=name,
                wanted="a server whose role has this option, such as kea",
            )
    if scenario.partner and scenario.support:
        raise usage_error(
            "partner and support are mutually exclusive",
            where=where,
            wanted="partner or support",
        )
    server = _with_defaults(scenario.server, where)
    beside = {}
    for role, settings in scenario.beside.items():
        _one_of(role, "role beside a server", roles_of("beside"), where)
        known = options_of(role, "tune")
        beside[role] = _checked(settings, known, f"setting of {role}", where)
    hosts = {}
    for role, settings in scenario.hosts.items():
        _one_of(role, "role that sets hosts", roles_of("host"), where)
        known = options_of(role, "scenario")
        hosts[role] = _checked(settings, known, f"setting of {role}", where)
    load = {name: value for name, value in scenario.load.items() if name in serving}
    _checked(load, serving, "load", where)
    for name, usual in OF_EVERY_SERVER.items():
        value = scenario.load.get(name, usual[0])
        if name not in serving and value not in usual:
            raise usage_error(
                f"{kind} does not serve that load",
                where=f"{where}: {name}",
                found=str(value),
                wanted=" or ".join(map(str, usual)),
            )
    generating = {
        **options_of(GENERATORS, "queries"),
        **options_of(scenario.generator, "main"),
    }
    asking = {name: value for name, value in scenario.load.items() if name in generating}
    _checked(asking, generating, "load", where)
    check_pool(scenario.load, where)
    support = _support(scenario.support, where) if scenario.support else None
    given = {
        **load,
        **server.options,
        "partner": scenario.partner,
        "beside": list(scenario.beside),
        "support": {"kind": support.kind, "options": support.options} if support else {},
    }
    _check_together(kind, given, where)
    return replace(scenario, server=server, beside=beside, hosts=hosts, support=support)


def apart(scenarios: Iterable[Scenario]) -> str:
    """Why scenarios cannot lie side by side, by their `hosts`; empty where they can."""
    asked = [scenario.hosts for scenario in scenarios]
    for role in dict.fromkeys(name for hosts in asked for name in hosts):
        why = lab_roles()[role].apart
        if why and any(hosts.get(role) != asked[0].get(role) for hosts in asked):
            return why
    return ""


def _support(asked: ServerOptions, where: str) -> ServerOptions:
    """Return the server's supporting service, with every option of its role."""
    known = [name for name, role in lab_roles().items() if role.supports]
    _one_of(asked.kind, "kind of support", known, where)
    support = _with_defaults(asked, where)
    _check_together(support.kind, support.options, where)
    return support


def _with_defaults(asked: ServerOptions, where: str) -> ServerOptions:
    """Return a role and all its options: those asked for, the role's default of the others."""
    declared = options_of(asked.kind, "scenario")
    given = _checked(asked.options, declared, f"option of {asked.kind}", where)
    return ServerOptions(
        kind=asked.kind,
        options={name: given.get(name, option["default"]) for name, option in declared.items()},
        defaulted=tuple(name for name in declared if name not in given),
    )


def _checked(
    asked: Mapping[str, Any], declared: Options, what: str, where: str
) -> dict[str, Any]:
    """Return what is asked for, of the types that are declared; else a usage error."""
    options = {}
    for name, value in asked.items():
        if name not in declared:
            raise unknown(what, name, list(declared), where)
        choices, wanted = declared[name].get("choices"), _TYPES[declared[name]["type"]]
        whole = wanted is float and type(value) is int
        options[name] = float(value) if whole else value
        if not whole and type(value) is not wanted:
            raise usage_error(
                "value of another type",
                where=f"{where}: {name}",
                found=repr(value),
                wanted=wanted.__name__,
            )
        several = value if isinstance(value, list) else [value]
        refused = [] if choices is None else [one for one in several if one not in choices]
        if choices is not None and refused:
            raise usage_error(
                "value not allowed",
                where=f"{where}: {name}",
                found=", ".join(map(str, refused)),
                wanted=" or ".join(map(str, choices)),
            )
    return options


def _one_of(name: str, what: str, known: list[str], where: str) -> None:
    if name not in known:
        raise unknown(what, name, known, where)


def _check_together(kind: str, given: Mapping[str, Any], where: str) -> None:
    """Refuse options that the role's own tasks would refuse, before anything is touched."""
    shared = options_of(SERVERS, "check")
    variables = {
        f"{SERVERS if name in shared else kind}_{name}": value for name, value in given.items()
    }
    for condition, reason in _conditions(kind):
        if condition(variables) is not True:  # Ansible takes no other value for true
            raise usage_error(" ".join(reason.render(variables).split()), where=where)


@cache
def _conditions(kind: str) -> list[tuple[Callable[..., Any], jinja2.Template]]:
    """The conditions of entry point ``scenario``, and how it is said that one does not hold.

    Ansible judges the same conditions when the role is played.
    """
    jinja = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # plain text
    (task,) = read_yaml(ROLES / kind / "tasks" / "scenario.yml")
    return [
        (
            jinja.compile_expression(row["holds"].strip()[2:-2], undefined_to_none=False),
            jinja.from_string(row["otherwise"]),
        )
        for row in task["vars"]["server_conditions"]
    ]


def read_yaml(path: Path) -> Any:  # noqa: ANN401  (parsed YAML)
    """Read a file of a role; raises `yaml.YAMLError`."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)  # noqa: S506  # a safe one
