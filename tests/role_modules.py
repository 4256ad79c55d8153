"""Python of roles, loaded as Ansible does: nothing of a role is on Python's path."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[1] / "roles"


def load(role, name):
    """A module, a plugin or a program of a role, with what its roles' modules share."""
    folder = ROLES / role
    for path in sorted((folder / "module_utils").glob("[!_]*")):  # no __pycache__
        if f"ansible.module_utils.{path.stem}" not in sys.modules:
            source = path / "__init__.py" if path.is_dir() else path
            load_file(f"ansible.module_utils.{path.stem}", source)
    if f"ansible.module_utils.{name}" in sys.modules:
        return sys.modules[f"ansible.module_utils.{name}"]
    places = (f"library/{name}.py", f"filter_plugins/{name}.py", f"files/{name}")
    return load_file(name, next(folder / at for at in places if (folder / at).is_file()))


def load_file(name, path):
    """A file as a module, whatever its name ends in."""
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    if name.startswith("ansible."):
        sys.modules[name] = module
    loader.exec_module(module)
    return module


class Ended(Exception):  # noqa: N818  # how a module ends
    """What a module says as it ends."""


def ended(module, *, check_mode=False, **parameters):
    """Run an Ansible module as Ansible would; return what it says as it ends."""

    class Module:
        def __init__(self, argument_spec, supports_check_mode):
            assert supports_check_mode
            assert set(parameters) <= set(argument_spec)
            defaults = {name: option.get("default") for name, option in argument_spec.items()}
            self.check_mode, self.params = check_mode, {**defaults, **parameters}

        def exit_json(self, **said):
            raise Ended(said)

        def fail_json(self, **said):
            raise Ended({"failed": True, **said})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AnsibleModule", Module)
        with pytest.raises(Ended) as how:
            module.main()
    return how.value.args[0]
