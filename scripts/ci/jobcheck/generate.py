"""Generates all jobs as `jenkins-jobs test` does, and records which keys are read."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

warnings.filterwarnings("ignore", message="pkg_resources is deprecated")

from jenkins_jobs.config import JJBConfig  # noqa: E402 - the warning comes with the import
from jenkins_jobs.expander import enum_required_params  # noqa: E402
from jenkins_jobs.loader import load_files  # noqa: E402
from jenkins_jobs.modules.view_list import COLUMN_DICT  # noqa: E402
from jenkins_jobs.registry import ModuleRegistry  # noqa: E402
from jenkins_jobs.roots import Roots  # noqa: E402
from jenkins_jobs.xml_config import XmlJobGenerator, XmlViewGenerator  # noqa: E402

from ci.jobcheck import cron  # noqa: E402
from ci.jobcheck.finding import place_of, unknown  # noqa: E402
from ci.jobcheck.reading import Reading  # noqa: E402
from leaselab.model.errors import LeaselabError, usage_error  # noqa: E402

READ_BEFORE = {"name", "folder", "project-type", "view-type", "description", "template-name"}
"""Keys of a job that the builder reads before its modules do."""


class WatchingRegistry(ModuleRegistry):
    """The builder's registry, which also records the components called and the keys read."""

    def __init__(self, config: JJBConfig) -> None:
        super().__init__(config, [])
        self.book: list[Reading] = []
        self.components: set[str] = set()
        self.called_macros: set[tuple[str, str]] = set()
        self.findings: list[LeaselabError] = []

    def dispatch(  # noqa: D102 - as the builder has it
        self,
        component_type: str,
        xml_parent: ElementTree.Element,
        component: Any,  # noqa: ANN401 - any YAML
        *args: Any,  # noqa: ANN401 - handed on
        **kwargs: Any,  # noqa: ANN401 - handed on
    ) -> None:
        name, data = component, None
        if isinstance(component, dict):
            name, data = next(iter(component.items()))
        macro = self.macros.get(component_type, {}).get(name)
        if macro:
            self.called_macros.add((component_type, str(name)))
            if isinstance(data, dict):
                self._check_arguments(f"{component_type} macro {name}", macro, data)
                if isinstance(data, Reading):
                    data.forgive()
        else:
            self.components.add(f"{component_type}.{name}")
            if isinstance(component, dict) and not isinstance(component, Reading):
                component = Reading(component, component_type, self.book)
        super().dispatch(component_type, xml_parent, component, *args, **kwargs)

    def _check_arguments(self, title: str, macro: Any, data: dict[str, Any]) -> None:  # noqa: ANN401 - the builder's
        """Record arguments of a call that the macro does not use."""
        used = set(enum_required_params(macro.elements, macro.pos))
        for key in set(dict(data)) - used:
            pos = getattr(data, "key_pos", {}).get(key)
            self.findings.append(unknown(f"{title} uses no such argument", key, used, pos))


@dataclass
class Generated:
    """Jobs, views and findings of a folder of definitions."""

    roots: Roots
    jobs: dict[str, ElementTree.Element] = field(default_factory=dict)
    views: dict[str, ElementTree.Element] = field(default_factory=dict)
    components: set[str] = field(default_factory=set)
    called_macros: set[tuple[str, str]] = field(default_factory=set)
    findings: list[LeaselabError] = field(default_factory=list)
    schedules: int = 0
    unspread: list[str] = field(default_factory=list)


class _Complaints(logging.Handler):
    """Records the builder's warnings, such as of deprecated options."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.texts[record.getMessage()] = None


def definitions(folder: Path, *, recursive: bool = False) -> list[Path]:
    """The folders whose YAML files jenkins-jobs reads: below `folder` only with ``-r``."""
    below = sorted(path for path in folder.rglob("*") if path.is_dir()) if recursive else []
    return [folder, *below]


def generate(folders: list[Path], config_file: Path) -> Generated:
    """Make every job and view of `folders`, by the settings of `config_file`.

    What the builder itself refuses is raised as its own JenkinsJobsException.
    """
    complaints = _Complaints()
    log = logging.getLogger()
    log.addHandler(complaints)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            config = JJBConfig(str(config_file), config_file_required=True)
            made = _generate(config, folders)
    finally:
        log.removeHandler(complaints)
    texts = [*complaints.texts, *dict.fromkeys(str(warning.message) for warning in caught)]
    made.findings += [
        usage_error(text, where=str(folders[0]), todo="use what replaces it")
        for text in texts
        if "pkg_resources" not in text
    ]
    return made


def _generate(config: JJBConfig, folders: list[Path]) -> Generated:
    roots = Roots(config)
    load_files(config, roots, folders)
    made = Generated(roots)
    registry = WatchingRegistry(config)
    registry.set_macros(roots.macros)
    jobs, views = roots.generate_jobs(), roots.generate_views()
    for item, kind in [*((job, "job") for job in jobs), *((view, "view") for view in views)]:
        made.components.add(_kind(item.data, kind))
        made.components |= {f"multibranch.{name}" for name in _sources(item.data)}
        item.data = Reading(item.data, f"{kind} {item.name}", registry.book)
    registry.amend_job_dicts(jobs)
    made.jobs = {job.name: job.xml for job in XmlJobGenerator(registry).generateXML(jobs)}
    made.views = {view.name: view.xml for view in XmlViewGenerator(registry).generateXML(views)}
    made.components |= registry.components
    made.called_macros = registry.called_macros
    made.findings += [*registry.findings, *_unread(registry.book), *_columns(views)]
    made.findings += _schedules(made)
    return made


def _kind(data: dict[str, Any], kind: str) -> str:
    """`job.pipeline`, `view.list`: the module that makes the frame."""
    if kind == "job":
        return f"job.{data.get('project-type', 'freestyle')}"
    return f"view.{data.get('view-type', 'list')}"


def _sources(data: dict[str, Any]) -> Iterator[str]:
    """The source of a multibranch job's branches."""
    if data.get("project-type") == "multibranch":
        for source in data.get("scm", []):
            yield from source


def _unread(book: list[Reading]) -> Iterator[LeaselabError]:
    """A finding for each unread key, one for all jobs that share it."""
    reported: set[tuple[str, str]] = set()
    lost: list[str] = []
    for reading in book:
        top = reading.place.startswith(("job ", "view ")) and "." not in reading.place
        if any(reading.place.startswith(place) for place in lost):
            continue
        for key in sorted(reading.unread() - (READ_BEFORE if top else set())):
            lost.append(f"{reading.place}.{key}")
            pos = reading.key_pos.get(key)
            where = (place_of(pos) or reading.place, key)
            if where not in reported:
                reported.add(where)
                what = f"nothing reads this key of {reading.place}"
                yield unknown(what, key, reading.asked, pos)


def _columns(views: list[Any]) -> Iterator[LeaselabError]:
    """A finding for each column that the builder would silently omit."""
    for view in views:
        columns = view.data.get("columns", [])
        for column in columns:
            if isinstance(column, str) and column not in COLUMN_DICT:
                pos = view.data.value_pos.get("columns")
                yield unknown(f"view {view.name} has no such column", column, COLUMN_DICT, pos)


def _schedules(made: Generated) -> Iterator[LeaselabError]:
    """A finding for each schedule that Jenkins would refuse; those without H are recorded."""
    for name, tree in made.jobs.items():
        for trigger in tree.iter():
            spec = trigger.find("spec") if trigger.tag.endswith("Trigger") else None
            if spec is None:
                continue
            made.schedules += 1
            text = spec.text or ""
            try:
                if not cron.check(text):
                    made.unspread.append(f"{name}: {text!r}")
            except cron.CronError as error:
                yield usage_error(
                    f"Jenkins refuses this schedule: {error}",
                    where=f"job {name}",
                    found=repr(text),
                    wanted="five fields such as H H(0-5) * * *",
                    todo="mend the schedule",
                )
