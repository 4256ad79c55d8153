"""The table of servers: commits of one, or releases of a distribution."""

import io

import pytest
from tests.examples import built, edited, example_result

from leaselab.report.by_server import by_server_document, print_by_server

SUBJECT = "Answer twice \x1b[31mas fast"


def of_commit(name, **fields):
    """The result of a commit; all of them have the same files."""
    return built(
        example_result(), name * 40, **{"tree": "0" * 40, "subject": SUBJECT, **fields}
    )


def packaged(scenario, package, release):
    def change(document):
        document["servers"]["server"] |= {"package": package, "build": None}
        document["bench"]["hosts"]["server"]["os"] = release

    return edited(example_result(scenario=scenario), change)


def printed(records):
    stream = io.StringIO()
    print_by_server(records, stream)
    return stream.getvalue().splitlines()


def test_commits_with_the_same_files_have_a_row_each():
    """A tag stands beside its hash, and no other description; a changed checkout is marked."""
    others = [of_commit("b", described="v2.91-3-gbbb"), of_commit("c", dirty=True)]
    lines = printed([of_commit("a", described="v2.91"), *others])
    assert lines[0].split() == ["commit", "date", "subject", "v4-memfile"]
    names = [line.split("  ")[0] for line in lines[1:4]]
    assert names == [f"{'a' * 10} v2.91", "b" * 10, "c" * 10 + "*"]
    assert lines[1].endswith("6006 ± 25")
    assert lines[-1] == "*: a checkout with changes that no commit has"
    assert not any("\x1b" in line for line in lines), "no subject commands the terminal"


def test_packages_of_one_server_share_a_row_and_releases_do_not():
    records = [
        packaged("v4-memfile", "kea-dhcp4-server 2.6.3-1", "Debian 13.7"),
        packaged("v6-memfile", "kea-dhcp6-server 2.6.3-1", "Debian 13.7"),
        packaged("v4-memfile", "kea-dhcp4-server 2.6.3-2", "Debian 14"),
    ]
    lines = printed(records)
    assert lines[0].split() == ["release", "server", "package", "v4-memfile", "v6-memfile"]
    assert lines[1].split()[:5] == ["Debian", "13.7", "kea", "2.6.3", "2.6.3-1"]
    assert lines[2].split()[-1] == "-"  # not measured there
    assert lines[-1].startswith("releases differ in libraries and compiler, too")
    first, other = (row["results"] for row in by_server_document(records))
    assert ([*first], [*other]) == (["v4-memfile", "v6-memfile"], ["v4-memfile"])
    assert first["v4-memfile"]["value"] == pytest.approx(6006, abs=1)
