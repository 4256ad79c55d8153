"""Jinja test of role lab_host."""


def holds(addr_info, wanted):
    """Whether an interface's `addr_info` (of ``ip -json address``) has all wanted addresses."""
    present = {info.get("local") for info in addr_info}
    return all(address in present for address in wanted if address)


class TestModule:
    """What Ansible loads."""

    def tests(self):
        return {"lab_host_holds": holds}
