"""The module that has a contract's files on a host."""

import json

import pytest
from tests.role_modules import ended, load

MODULE, FILTERS = load("contract", "contract_files"), load("contract", "contract")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Run the module as Ansible would; return what it says."""
    monkeypatch.setattr(MODULE.os, "chown", lambda *_: None)

    def run(programs, files, **how):
        return ended(MODULE, folder=str(tmp_path), programs=programs, files=files, **how)

    return run


def test_what_is_there_already_is_left_alone_and_all_in_check_mode(install, tmp_path):
    wanted = {"server": "#!/bin/sh\n"}, {"parts/__init__.py": "", "server.json": "{}\n"}
    assert install(*wanted, check_mode=True)["changed"]
    assert list(tmp_path.iterdir()) == []
    written = ["parts/__init__.py", "server", "server.json"]
    assert install(*wanted) == {"changed": True, "written": written, "removed": []}
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


def test_settings_are_written_as_json_and_packages_by_their_names(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.py").write_text("1\n")
    (tmp_path / "parts" / "notes.txt").write_text("no module")
    assert FILTERS.contract_texts([tmp_path / "parts"]) == {"parts/a.py": "1\n"}
    (text,) = FILTERS.contract_json({"server.json": {"b": None, "a": [1, True]}}).values()
    assert json.loads(text) == {"a": [1, True], "b": None}
    assert text.endswith("}\n")
