"""Python of roles, loaded as Ansible does: nothing of a role is on Python's path."""

import importlib.util
import sys
from pathlib import Path

ROLES = Path(__file__).parents[1] / "roles"


def load(role, name):
    """A module of a role, or one of those that they share, with what it imports."""
    for path in sorted((ROLES / role / "module_utils").glob("*.py")):
        shared = f"ansible.module_utils.{path.stem}"
        if shared not in sys.modules:
            _load(shared, path)
    if f"ansible.module_utils.{name}" in sys.modules:
        return sys.modules[f"ansible.module_utils.{name}"]
    return _load(name, ROLES / role / "library" / f"{name}.py")


def _load(name, path):
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    if name.startswith("ansible."):
        sys.modules[name] = module
    specification.loader.exec_module(module)
    return module
