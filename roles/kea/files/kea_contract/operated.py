"""Operations on a running Kea: its configuration read, set and grown while it serves."""

import json
import time
from pathlib import Path

from leaselab_contract import changed
from leaselab_contract.database import ask
from leaselab_contract.errors import ContractError
from leaselab_contract.logged import WithLog
from leaselab_contract.operations import operation

from kea_contract.control import control

ADDED = 1000
FIRST_ID = 4_000_000_000
"""Number of the first added subnet; those of others are below."""
MARK = "leaselab-operation"
"""What the configuration has in its user context; Kea ignores it."""
NEW_MARK = "config-get shows the new mark of the configuration"
ANSWER_S = 1.0
RECONNECT = {"max-reconnect-tries": 600, "reconnect-wait-time": 100}
"""How often Kea tries to reach a database again, and when (ms): by itself it would end."""
DATABASES = ("lease-database", "hosts-database")
CLEANS_EACH_S = 4
"""How often the lease file is cleaned up, from the operation on that does so (s)."""
USUALLY_CLEANED_EACH_S = 3600
"""The same of a configuration that does not say how often (s)."""
BEFORE_S = 0.1
"""How long before the cleanup that operation begins (s)."""
NO_LEASE = {4: "192.0.2.1", 6: "2001:db8::1"}
"""Addresses that no client has, by family."""


def _looks_leases_up(server):
    """Whether it can be asked what it has in a database on this host."""
    return server.config["can_wipe"] and server.syncs()


class WithOperations(WithLog):
    """Kea with a control socket."""

    cleaned_each_s = None
    """How often its lease file was cleaned up before an operation changed that (s)."""

    @property
    def _dhcp(self):
        return f"Dhcp{self.config['family']}"

    @property
    def _subnets(self):
        return f"subnet{self.config['family']}"

    def _shown(self):
        """Return the configuration that runs; None where Kea is too busy to show it."""
        try:
            return control(self.config, "config-get", timeout=ANSWER_S)[self._dhcp]
        except (OSError, ValueError, ContractError):
            return None

    def _running(self):
        """Return the same as config-set takes it, without what an operation has added."""
        running = control(self.config, "config-get")[self._dhcp]
        running.pop("config-control", None)
        if self.cleaned_each_s is not None:
            running["lease-database"]["lfc-interval"] = self.cleaned_each_s
        return {self._dhcp: running}

    def _mark(self, shown):
        return (shown or {}).get("user-context", {}).get(MARK, 0)

    @operation("reload", NEW_MARK)
    def reload(self):
        """Read the configuration file again (config-reload)."""
        argv = self.config["process"]["argv"]
        path = Path(argv[argv.index("-c") + 1])
        new = self._mark(self._shown()) + 1
        begin, brace, rest = path.read_text(encoding="utf-8").partition("{")
        head, own, tail = rest.partition("{")
        text = f'{begin}{brace}{head}{own} "user-context": {{ "{MARK}": {new} }},{tail}'
        with changed.replaced(path, text):
            yield
            control(self.config, "config-reload")
            while self._mark(self._shown()) != new:
                yield False
            yield True

    def reopen_log(self):
        """As in the base class: no command of Kea does only that."""
        control(self.config, "config-reload")

    @operation("config-set", NEW_MARK)
    def set_configuration(self):
        """Set the configuration that runs once more (config-set)."""
        wanted = self._running()
        new = self._mark(wanted[self._dhcp]) + 1
        context = wanted[self._dhcp].get("user-context", {})
        wanted[self._dhcp]["user-context"] = {**context, MARK: new}
        yield
        control(self.config, "config-set", wanted)
        while self._mark(self._shown()) != new:
            yield False
        yield True

    @operation("add-subnets", "config-get shows the added subnets")
    def add_subnets(self):
        """Add 1000 subnets (config-set)."""
        wanted = self._without_added()
        wanted[self._dhcp][self._subnets] += self._more_subnets()
        yield from self._set_subnets(wanted)

    @operation("remove-subnets", "config-get does not show them any more")
    def remove_subnets(self):
        """Remove the 1000 subnets that were added before (config-set)."""
        if not self._added(self._shown()):
            for _ in self.add_subnets():
                pass
        yield from self._set_subnets(self._without_added())

    def _set_subnets(self, wanted):
        count = self._added(wanted[self._dhcp])
        yield
        control(self.config, "config-set", wanted)
        while (shown := self._shown()) is None or self._added(shown) != count:
            yield False
        yield True

    def _more_subnets(self):
        prefix = "100.{}.{}.0/24" if self.config["family"] == 4 else "2001:db8:{:x}:{:x}::/64"
        return [
            {"id": FIRST_ID + number, "subnet": prefix.format(64 + number // 250, number % 250)}
            for number in range(ADDED)
        ]

    def _added(self, shown):
        return sum(one["id"] >= FIRST_ID for one in (shown or {}).get(self._subnets, []))

    def _without_added(self):
        wanted = self._running()
        subnets = wanted[self._dhcp][self._subnets]
        wanted[self._dhcp][self._subnets] = [one for one in subnets if one["id"] < FIRST_ID]
        return wanted

    @operation("reclaim", "Kea answers the command")
    def reclaim(self):
        """Reclaim expired leases (leases-reclaim)."""
        yield
        control(self.config, "leases-reclaim", {"remove": False})
        yield True

    @operation(
        "lease-cleanup",
        "kea-lfc has written the cleaned file",
        lambda server: server.writes_leases(),
    )
    def clean_leases_up(self):
        """Have the lease file cleaned up (LFC): by its interval, as no command does it."""
        wanted = self._running()
        store = wanted[self._dhcp]["lease-database"]
        self.cleaned_each_s = store.get("lfc-interval", USUALLY_CLEANED_EACH_S)
        store["lfc-interval"] = CLEANS_EACH_S
        control(self.config, "config-set", wanted)
        time.sleep(CLEANS_EACH_S - BEFORE_S)
        cleaned = Path(f"{self.config['lease_file']}.2")
        was = _written(cleaned)
        yield
        while _written(cleaned) == was:
            yield False
        yield True

    @operation("backup-database", "the backup is written", lambda server: server.syncs())
    def back_database_up(self):
        """Write a backup of the database of its leases (mariadb-dump, mysqldump or pg_dump)."""
        yield
        yield json.loads(ask(self.config, "backup"))["bytes"] > 0

    @operation("restart-database", "Kea looks a lease up in it again", _looks_leases_up)
    def restart_database(self):
        """Restart the database of its leases; Kea tries each 100 ms to reach it."""
        wanted = self._running()
        for name in DATABASES:
            wanted[self._dhcp].get(name, {}).update(RECONNECT)
        control(self.config, "config-set", wanted)
        yield
        with self.steady():
            ask(self.config, "stop")
            ask(self.config, "start")
        while not self._looks_up():
            yield False
        yield True

    def _looks_up(self):
        """Whether it has an answer of its database on a lease."""
        family = self.config["family"]
        asked = {"ip-address": NO_LEASE[family], **({"type": "IA_NA"} if family == 6 else {})}
        try:
            control(self.config, f"lease{family}-get", asked, ANSWER_S)
        except (OSError, ValueError, ContractError):
            return False
        return True


def _written(path):
    """When a file was written (ns since 1970); None where there is none."""
    return path.stat().st_mtime_ns if path.exists() else None
