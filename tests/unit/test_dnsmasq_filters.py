"""Filters of role dnsmasq."""

from tests.role_modules import load

dnsmasq = load("dnsmasq", "dnsmasq")


def test_a_pool_is_written_as_dnsmasq_wants_it():
    four = dnsmasq.dnsmasq_range("10.0.0.1 - 10.255.255.254", "10.0.0.0/8")
    six = dnsmasq.dnsmasq_range("2001:2:0:100::/64", "2001:2:0:100::/64")
    assert four == "10.0.0.1,10.255.255.254,255.0.0.0"
    assert six == "2001:2:0:100::,2001:2:0:100:ffff:ffff:ffff:ffff,64"


def test_a_refusal_has_the_line_instead_of_its_number():
    said = "\ndnsmasq: bad option at line 2 of /etc/leaselab-dnsmasq-candidate.conf\n"
    text = "no-ping\nnonsense=5\n"
    assert dnsmasq.dnsmasq_named_line(said, text) == "dnsmasq: bad option: nonsense=5"
    other = "dnsmasq: bad hex constant at line 2 of /var/lib/files/1f00"
    assert dnsmasq.dnsmasq_named_line(other, text) == other
