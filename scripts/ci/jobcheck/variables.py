"""Variables of projects and templates: each must be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jenkins_jobs.defaults import job_contents_keys, view_contents_keys
from jenkins_jobs.expander import enum_required_params
from jenkins_jobs.roots import Roots

from ci.jobcheck.finding import place_of, unknown
from leaselab.model.errors import LeaselabError, usage_error

OF_THE_BUILDER = {"name", "exclude", "id", "template-name"}
"""Variables of a project or template that the builder itself reads."""

_TODO = "remove it, or use it; what is no key of a job counts as a variable"


def unused(roots: Roots, called_macros: set[tuple[str, str]]) -> Iterator[LeaselabError]:
    """A finding for each variable that is given and not used, and each template and macro.

    `called_macros` are the kinds and names of those that were called while generating.
    """
    users: dict[int, set[str]] = {}  # by mapping of variables: its used names
    owners: dict[int, tuple[str, dict[str, Any]]] = {}
    instantiated: set[int] = set()

    def give(title: str, variables: dict[str, Any], used: set[str]) -> None:
        owners[id(variables)] = (title, variables)
        users.setdefault(id(variables), set()).update(used)

    for item, chain in _instances(roots):
        instantiated.add(id(item))
        layers = [*chain, (str(item), item.params), *_defaults(roots, item)]
        used = _closure(item, [variables for _, variables in layers])
        for title, variables in layers:
            give(title, variables, used)
    for title, variables in owners.values():
        yield from _report(title, variables, users[id(variables)])
    yield from _idle(roots, instantiated, called_macros)


def _instances(roots: Roots) -> Iterator[tuple[Any, list[tuple[str, dict[str, Any]]]]]:
    """Each generated job, view and template, with its variables."""
    for item in [*roots.jobs.values(), *roots.views.values()]:
        yield item, []
    for project in roots.projects.values():
        known = {**roots.job_templates, **roots.job_groups}
        known_views = {**roots.view_templates, **roots.view_groups}
        for specs, table in ((project.job_specs, known), (project.view_specs, known_views)):
            for spec in specs:
                item = table.get(spec.name)
                chain = [
                    (str(project), project.params),
                    (f"{spec.name} in {project}", spec.params),
                ]
                if item is not None and hasattr(item, "specs"):
                    for inner in item.specs:
                        more = [
                            (str(item), item.params),
                            (f"{inner.name} in {item}", inner.params),
                        ]
                        yield table[inner.name], [*chain, *more]
                elif item is not None:
                    yield item, chain


def _defaults(roots: Roots, item: Any) -> list[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - the builder's
    """The variables of the defaults that apply to an item."""
    names = dict.fromkeys([str(item.defaults_name), "global"])
    return [
        (f"defaults {name}", roots.defaults[name].params)
        for name in names
        if name in roots.defaults
    ]


def _closure(item: Any, layers: list[dict[str, Any]]) -> set[str]:  # noqa: ANN401 - the builder's
    """The variables that an item uses, and those that the values of these use."""
    wanted = list(_required(item.contents)) + list(_required(str(item.name)))
    defaults = item._defaults
    for name in (str(item.defaults_name), "global"):
        if name in defaults:
            wanted += _required(defaults[name].contents)
    used: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in used:
            used.add(name)
            for variables in layers:
                if name in variables:
                    wanted += _required(variables[name])
    return used


def _required(value: Any) -> list[str]:  # noqa: ANN401 - any YAML
    return [str(name) for name in enum_required_params(value, None)]


def _report(title: str, variables: dict[str, Any], used: set[str]) -> Iterator[LeaselabError]:
    known = used | job_contents_keys | view_contents_keys
    positions = getattr(variables, "key_pos", {})
    for name, value in variables.items():
        if name not in used | OF_THE_BUILDER:
            pos = positions.get(name)
            yield unknown(f"nothing uses this variable of {title}", name, known, pos, _TODO)
        elif isinstance(value, list):
            yield from _report_points(title, name, value, used)


def _report_points(
    title: str, axis: str, points: Iterable[Any], used: set[str]
) -> Iterator[LeaselabError]:
    """As above, for the variables of single points of an axis."""
    for point in points:
        if isinstance(point, dict) and len(point) == 1:
            name, variables = next(iter(point.items()))
            if isinstance(variables, dict):
                yield from _report(f"{axis} {name} in {title}", variables, used)


def _idle(
    roots: Roots, instantiated: set[int], called_macros: set[tuple[str, str]]
) -> Iterator[LeaselabError]:
    """Templates that no project uses, and macros that no job calls."""
    for template in [*roots.job_templates.values(), *roots.view_templates.values()]:
        if id(template) not in instantiated:
            yield usage_error(
                f"no project uses {template}",
                where=place_of(template.pos),
                todo="name it in the project, or remove it",
            )
    for kind, macros in roots.macros.items():
        for name, macro in macros.items():
            if (kind, name) not in called_macros:
                yield usage_error(
                    f"no job calls {macro}",
                    where=place_of(macro.pos),
                    todo="call it, or remove it",
                )
