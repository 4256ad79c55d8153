"""The configuration backend of Kea: subnets that it fetches from the database of its leases."""

from pathlib import Path

from leaselab_contract.database import ask
from leaselab_contract.operations import operation

from kea_contract import operated
from kea_contract.control import control

REVISION = "createAuditRevisionDHCP{family}(NOW(), 'all', 'operate', FALSE)"
"""By what Kea sees later that something has changed."""


def _has_backend(server):
    """Whether its database is on this host, and it can fetch from that."""
    if not server.syncs():
        return False
    settings = server.config["database"]
    return settings["is_hook"] or Path(settings["backend_hook"]).exists()


class WithBackend(operated.WithOperations):
    """Kea with its leases in a database."""

    @operation("fetch-subnets", "config-get shows the subnets of the database", _has_backend)
    def fetch_subnets(self):
        """Fetch 1000 new subnets from the configuration backend (config-backend-pull)."""
        wanted = self._without_added()
        own, settings = wanted[self._dhcp], self.config["database"]
        own["config-control"] = {
            "config-databases": [own["lease-database"]],
            "config-fetch-wait-time": 0,
        }
        loaded = [hook["library"] for hook in own["hooks-libraries"]]
        if not settings["is_hook"] and settings["backend_hook"] not in loaded:
            own["hooks-libraries"] += [{"library": settings["backend_hook"]}]
        control(self.config, "config-set", wanted)
        try:
            self._change(
                f"INSERT INTO {self._table} (subnet_id, subnet_prefix, modification_ts) VALUES",
                ", ".join(
                    f"({one['id']}, '{one['subnet']}', NOW())" for one in self._more_subnets()
                ),
                f"; INSERT INTO {self._table}_server (subnet_id, server_id, modification_ts)",
                f"SELECT subnet_id, 1, NOW() FROM {self._table};",  # noqa: S608  # a constant
            )
            yield
            control(self.config, "config-backend-pull")
            while self._added(self._shown()) != operated.ADDED:
                yield False
            yield True
        finally:
            self._change(f"DELETE FROM {self._table};")  # noqa: S608  # a constant

    @property
    def _table(self):
        return f"dhcp{self.config['family']}_subnet"

    def _change(self, *words):
        """Change what is in the database, in one revision."""
        settings = self.config["database"]
        call = "SELECT" if settings["title"] == "PostgreSQL" else "CALL"
        revision = REVISION.format(family=self.config["family"])
        lines = ["BEGIN;", f"{call} {revision};", *words, "COMMIT;"]
        ask(self.config, "sql", "\n".join([settings["use_sql"], *lines]))
