"""The tags of a dnsmasq.conf that a client's message has set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from heapq import heapify, heappop, heappush

from leaselab.inputs.dnsmasq.classes import Class, Packet, Patterns, Where, match
from leaselab.inputs.dnsmasq.hosts import Host, Makers


class Tags:
    """Which tags messages have set: by their classes, their dhcp-host, and tag-if."""

    def __init__(
        self,
        classes: Iterable[Class],
        rules: Sequence[tuple[Sequence[str], Set[str]]],
        ignored: Sequence[Sequence[str]],
        makers: Makers,
        every: Iterable[str] = (),
    ) -> None:
        """`rules` are pairs of the tags that one wants, and those that it sets.

        `ignored` are tags whose clients get no answer, `makers` the dhcp-hosts, `every` tags
        that all have.
        """
        self._every = tuple(every)
        self._makers, self._rules, self._ignored = makers, rules, ignored
        self._of_rules = by_tag(wanted for wanted, _ in rules)
        self._of_ignored = by_tag(ignored)
        self._macs = Patterns[str]()
        self._values: dict[Where, dict[int | None, dict[bytes, list[str]]]] = {}
        for one in classes:
            if one.where is None:
                self._macs.add(one.mac, one.tag)
            else:
                size = len(one.value) if one.is_part else None
                of_size = self._values.setdefault(one.where, {}).setdefault(size, {})
                of_size.setdefault(one.value, []).append(one.tag)

    def of(
        self, packet: Packet, host: Host | None = None, own: Iterable[str] = ()
    ) -> set[str] | None:
        """The tags of a packet, or of a client with a dhcp-host; None where it is ignored.

        `own` are those that a dhcp-host sets here, if not its usual ones.
        """
        tags = {*self._every, *self._of_classes(packet)}
        host = host or self._makers.host(packet.mac, tags)
        if host is not None:
            tags.update(own or host.tags)
        self._add(tags)
        numbers = {at for tag in (*tags, "") for at in self._of_ignored[tag]}
        if (host and host.is_ignored) or any(match(self._ignored[at], tags) for at in numbers):
            return None
        return tags

    def _of_classes(self, packet: Packet) -> Iterator[str]:
        for where, of_size in self._values.items():
            data = packet.sent.get(where)
            if data is None:
                continue
            for size, of_value in of_size.items():
                parts = (
                    {data}
                    if size is None
                    else {data[at : at + size] for at in range(len(data) - size + 1)}
                )
                for part in parts & of_value.keys():
                    yield from of_value[part]
        yield from self._macs.of(packet.mac)

    def _add(self, tags: set[str]) -> None:
        """Add the tags of rules, which hold one after the other."""
        numbers = [at for tag in (*tags, "") for at in self._of_rules[tag]]
        heapify(numbers)
        while numbers:
            number = heappop(numbers)
            wanted, more = self._rules[number]
            new = more - tags if match(wanted, tags) else set()
            tags.update(new)
            for at in (at for tag in new for at in self._of_rules[tag]):
                if at > number:
                    heappush(numbers, at)


def by_tag(wanted: Iterable[Iterable[str]]) -> defaultdict[str, list[int]]:
    """The numbers of lists of wanted tags by one that each wants; by none where none is."""
    numbers = defaultdict[str, list[int]](list)
    for number, tags in enumerate(wanted):
        numbers[next((tag for tag in tags if tag[:1] not in ("!", "#")), "")].append(number)
    return numbers
