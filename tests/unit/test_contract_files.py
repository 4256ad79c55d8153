"""The module that has a contract's files on a host."""

import importlib.util
import json
from pathlib import Path

import pytest

ROLE = Path(__file__).parents[2] / "roles/contract"


def loaded(path):
    """A file of the role as a module: nothing of a role is on Python's path."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


MODULE = loaded(ROLE / "library/contract_files.py")
FILTERS = loaded(ROLE / "filter_plugins/contract.py")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Run the module as Ansible would; return what it says."""
    monkeypatch.setattr(MODULE.os, "chown", lambda *_: None)

    def run(programs, files, *, check_mode=False):
        said = {}

        class Ended(Exception):  # noqa: N818  # how a module ends
            pass

        class Module:
            def __init__(self, argument_spec, supports_check_mode):
                assert supports_check_mode
                assert set(argument_spec) == {"folder", "programs", "files"}
                self.check_mode = check_mode
                self.params = {"folder": str(tmp_path), "programs": programs, "files": files}

            def exit_json(self, **result):
                said.update(result)
                raise Ended

        monkeypatch.setattr(MODULE, "AnsibleModule", Module)
        with pytest.raises(Ended):
            MODULE.main()
        return said

    return run


def test_what_is_there_already_is_left_alone(install, tmp_path):
    wanted = {"server": "#!/bin/sh\n"}, {"parts/__init__.py": "", "server.json": "{}\n"}
    first = install(*wanted)
    assert first == {
        "changed": True,
        "written": ["parts/__init__.py", "server", "server.json"],
        "removed": [],
    }
    assert (tmp_path / "server").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "server.json").stat().st_mode & 0o777 == 0o644
    assert install(*wanted) == {"changed": False, "written": [], "removed": []}
    (tmp_path / "server").chmod(0o700)
    assert install(*wanted)["written"] == ["server"]


def test_a_module_that_is_not_there_any_more_is_removed_and_nothing_else(install, tmp_path):
    install({"server": "x"}, {"parts/old.py": "1", "parts/new.py": "2", "other.json": "3"})
    (tmp_path / "database.py").write_text("of another contract")
    said = install({"server": "x"}, {"parts/new.py": "2"})
    assert said["removed"] == ["parts/old.py"]
    assert (tmp_path / "other.json").exists()
    assert (tmp_path / "database.py").exists()


def test_in_check_mode_nothing_is_touched(install, tmp_path):
    assert install({"server": "x"}, {"parts/a.py": ""}, check_mode=True)["changed"]
    assert list(tmp_path.iterdir()) == []


def test_settings_are_written_as_json_and_packages_by_their_names(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.py").write_text("1\n")
    (tmp_path / "parts" / "notes.txt").write_text("no module")
    assert FILTERS.contract_texts([tmp_path / "parts"]) == {"parts/a.py": "1\n"}
    (text,) = FILTERS.contract_json({"server.json": {"b": None, "a": [1, True]}}).values()
    assert json.loads(text) == {"a": [1, True], "b": None}
    assert text.endswith("}\n")
