"""Where a commit's source defines a function, and how a verdict is put there."""

import json

import pytest
from tests.counts import archived_count, counted
from tests.repositories import commit, make_repository

from leaselab.analysis.comparison.verdict import compare
from leaselab.archive.store import Store
from leaselab.builds.definitions import definition_of
from leaselab.builds.repository import Repository
from leaselab.report.export.code_quality import code_quality
from leaselab.run.contest import profiles_of

C = """\
/* dhcp_reply(int) is only named here */
size_t dhcp_reply(struct dhcp_context *context, char *iface_name,
\t\t  int is_inform);
static int helper(int a) { return a; }
\f
size_t dhcp_reply(struct dhcp_context *context, char *iface_name,
\t\t  int is_inform)
{
  return helper(1);
}

isc_result_t
ns_query(int a) {
  return (dhcp_reply (0, 0, 0));
}
int table[] = { dhcp_reply(1) };
"""
CC = """\
namespace isc {
Dhcpv4Srv::Dhcpv4Srv(int port) : port_(port) {
}
void
Dhcpv4Srv::run() {
    OtherSrv::run();
}
void OtherSrv::run() {
}
int alone(const std::string& text) {
    return Dhcpv4Srv::count;
}
template <typename T>
void Pool<T>::fill(T value) { }
}
"""


@pytest.fixture
def source(tmp_path):
    place = make_repository(tmp_path / "server")
    commit(place, "One", {"src/two.c": "static int helper(int a)\n{\n}\n"}, minute=1)
    commit(place, "Two", {"src/reply.c": C, "src/server.cc": CC, "é b.c": "int odd()\n{}\n"})
    repository = Repository(place, "server")
    return repository, repository.resolve("HEAD")


@pytest.mark.parametrize(
    ("function", "place"),
    [
        ("dhcp_reply", ("src/reply.c", 6)),
        ("ns_query", ("src/reply.c", 13)),
        ("odd", ("é b.c", 1)),
        ("isc::dhcp::Dhcpv4Srv::run()", ("src/server.cc", 5)),
        ("isc::OtherSrv::run()", ("src/server.cc", 8)),
        ("isc::Dhcpv4Srv::Dhcpv4Srv(int)", ("src/server.cc", 2)),
        ("isc::alone(std::string const&)", ("src/server.cc", 10)),
        ("void isc::Pool<int>::fill(int)", ("src/server.cc", 14)),
        ("helper", None),
        ("nothing", None),
        ("[dnsmasq]", None),
        ("(libraries, not called by the server)", None),
        ("--open-files-in-pager=sh", None),
    ],
)
def test_a_function_is_where_its_body_begins(source, function, place):
    assert definition_of(*source, function, frozenset()) == place


def test_of_two_with_one_name_it_is_that_in_a_file_that_changed(source):
    repository, after = source
    changed = repository.changed(repository.resolve("HEAD^"), after)
    assert changed == {"src/reply.c", "src/server.cc", "é b.c"}
    assert definition_of(*source, "helper", changed) == ("src/reply.c", 4)


def findings(tmp_path, place_of, **changes):
    store = Store(tmp_path)
    base = archived_count(store, "20260101T000000Z-v4-memfile-0001", *[counted()] * 3)
    other = archived_count(store, "20260102T000000Z-v4-memfile-0002", *[counted(**changes)] * 3)
    judged = [(compare(base, other), profiles_of(store, base, other))]
    return json.loads(code_quality(judged, lambda _, function: place_of.get(function)))


def test_more_instructions_are_a_finding_at_the_function_that_has_them(tmp_path):
    places = {"dhcp_reply": ("src/reply.c", 6)}
    (finding,) = findings(tmp_path, places, reply=13)
    assert finding["location"] == {"path": "src/reply.c", "lines": {"begin": 6}}
    assert "1.2 % more instructions" in finding["description"]
    assert (finding["severity"], finding["check_name"]) == ("major", "leaselab-more")
    (again,) = findings(tmp_path / "again", places, reply=26)
    assert again["fingerprint"] == finding["fingerprint"]


def test_more_without_a_known_place_is_a_finding_of_no_file_and_an_equal_commit_none(tmp_path):
    (finding,) = findings(tmp_path / "more", {}, reply=13)
    assert finding["location"]["path"] == "."
    assert findings(tmp_path / "equal", {"dhcp_reply": ("src/reply.c", 6)}) == []
