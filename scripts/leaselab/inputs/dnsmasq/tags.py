"""The tags of a dnsmasq.conf that a client's message has set."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush

from leaselab.inputs.dnsmasq.classes import ANY, MACS, match


class Patterns:
    """Things by patterns of hardware addresses, of which an address has several."""

    def __init__(self):
        self._by_shape = {}

    def add(self, pattern, held):
        """Add a thing."""
        parts = pattern.split(":")
        shape = tuple(at for at, part in enumerate(parts) if part != "*")
        key = tuple(parts[at] for at in shape)
        self._by_shape.setdefault(shape, {}).setdefault(key, []).append(held)

    def of(self, mac):
        """Yield what was added with patterns that an address has, or another pattern."""
        parts = mac.split(":")
        for shape, held in self._by_shape.items():
            yield from held.get(tuple(parts[at] for at in shape), ())


class Tags:
    """Which tags messages have set: by their classes, their dhcp-host, and tag-if."""

    def __init__(self, classes, rules, ignored, makers):
        """`rules` are pairs of the tags that one wants, and those that it sets.

        `ignored` are tags whose clients get no answer, `makers` the dhcp-hosts.
        """
        self._makers, self._rules, self._ignored = makers, rules, ignored
        self._of_rules = by_tag(wanted for wanted, _ in rules)
        self._of_ignored = by_tag(ignored)
        self._macs, self._values = Patterns(), {}
        for one in classes:
            if one.where == MACS:
                self._macs.add(one.value, one.tag)
            else:
                size = len(one.value) if one.is_part else None
                of_size = self._values.setdefault(one.where, {}).setdefault(size, {})
                of_size.setdefault(one.value, []).append(one.tag)

    def of(self, packet, host=None):
        """The tags of a packet, or of a client with a dhcp-host; None where it is ignored."""
        tags = set(self._of_classes(packet))
        host = host or self._makers.host(packet.get(MACS, ANY), tags)
        if host is not None:
            tags.update(host.tags)
        self._add(tags)
        numbers = {at for tag in (*tags, "") for at in self._of_ignored[tag]}
        if (host and host.is_ignored) or any(match(self._ignored[at], tags) for at in numbers):
            return None
        return tags

    def _of_classes(self, packet):
        for where, of_size in self._values.items():
            data = packet.get(where)
            for size, of_value in of_size.items() if data is not None else ():
                parts = (
                    {data}
                    if size is None
                    else {data[at : at + size] for at in range(len(data) - size + 1)}
                )
                for part in parts & of_value.keys():
                    yield from of_value[part]
        yield from self._macs.of(packet.get(MACS, ANY))

    def _add(self, tags):
        """Add the tags of rules, which hold one after the other."""
        numbers = [at for tag in (*tags, "") for at in self._of_rules[tag]]
        heapify(numbers)
        while numbers:
            number = heappop(numbers)
            wanted, more = self._rules[number]
            new = more - tags if match(wanted, tags) else ()
            tags.update(new)
            for at in (at for tag in new for at in self._of_rules[tag]):
                if at > number:
                    heappush(numbers, at)


def by_tag(wanted):
    """The numbers of lists of wanted tags by one that each wants; by none where none is."""
    numbers = defaultdict(list)
    for number, tags in enumerate(wanted):
        numbers[next((tag for tag in tags if tag[:1] not in ("!", "#")), "")].append(number)
    return numbers
