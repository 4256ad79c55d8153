"""The Kea servers behind the contract: what differs from other servers.

start makes a database's schema from nothing; state, settle, cut and rejoin are about a pair;
list prints address and client of every lease.
"""

import os
import signal
from pathlib import Path

from leaselab_contract import filled, interface, process, sampling, server
from leaselab_contract.database import WithDatabase, check_running, is_distant
from leaselab_contract.disk import WithLeaseFile
from leaselab_contract.errors import ContractError

from kea_contract import backend, database, pair, poll, store
from kea_contract.control import config_hash, control, forget_leases, leases, statistic


class Server(backend.WithBackend, WithLeaseFile, WithDatabase, server.Server):
    """Kea, with a pair's agent, its database, the delayed link to that, and its poller."""

    VERBS = (
        *server.Server.VERBS,
        *("state", "settle", "list"),
        *("crash", "restart", "cut", "rejoin"),
    )

    def prepare(self):
        """Empty the store and the forensic log; start the database with its delayed link."""
        store.remove_files(self.config)
        if self.config.get("legal_file"):
            logged = Path(self.config["legal_file"])
            for file in logged.parent.glob(f"{logged.name}.*"):
                file.unlink()
        Path(self.config["control_socket"]).unlink(missing_ok=True)
        beside = database.prepare(self.config) if self.config["database"] else {}
        for link in database.links(self.config):
            self.launch_and_hear(link, "listens")
        return beside

    def launch(self):
        """Start it, where it begins with leases once before: its empty file has its columns."""
        if filled.read(self.config) and not database.has_leases(self.config):
            super().launch()
            process.end(self.config["process"], self.STOP_S)
            store.begin_again(self.config)
        return super().launch()

    def ready(self):
        """Return its version."""
        answer = control(self.config, "version-get", timeout=2.0)
        return answer["extended"].split()[0]

    def check_started(self):
        """Start a pair's agent, and the poller; raises for leases that it did not take."""
        if database.has_leases(self.config) and not database.is_borrowed(self.config):
            database.write_emptying(self.config)
        filled.check(self.config, lambda: leases(self.config))
        pair.check_clock(self.config)
        if self.config["agent"]:
            pair.start_agent(self.config["agent"])
        if self.config["poller"]:
            self.launch_and_hear(self.config["poller"], poll.ANSWERED)
        return {}

    def config_sha256(self, _pid):
        """Return the hash of the configuration that it reports."""
        return config_hash(self.config)

    def launch_and_hear(self, helper, word):
        """Start a program beside Kea; wait until it has said this word."""

        def said():
            if word not in Path(helper["output_file"]).read_text(encoding="utf-8"):
                raise ContractError(f"it has not said '{word}'")

        process.wait_until(said, process.launch(helper), helper, self.START_S)

    def state(self):
        """Return how a pair differs from the state asked for."""
        return {"trouble": pair.trouble(self.config)}

    def settle(self):
        """Return when a pair is in that state."""
        pair.settle(self.config)
        return {"trouble": ""}

    def reset(self):
        """Empty the store; once more for leases whose request was still queued."""
        if database.is_borrowed(self.config):
            forget_leases(self.config)
            return super().reset()
        was = 0
        for _ in range(5):
            before, left = self.empty()
            was += before
            if left == 0:
                return {"held": 0, "was": was}
        raise ContractError(
            f"{left} leases left after emptying five times; is traffic running?"
        )

    def empty(self):
        """Return how many leases there were and are.

        A hook has the command for it.  Without the hook, Kea reads its configuration again
        and finds no file of leases, or one of those with which it begins; it stays the same
        process, and counts packets on.
        """
        if database.has_leases(self.config):
            return database.empty(self.config)
        before = leases(self.config)
        if filled.read(self.config):
            store.begin_again(self.config)
            control(self.config, "config-reload")
        elif self.config["can_wipe"]:
            # Without a subnet it is all of them.
            subnet = self.config["subnet_id"]
            of_one = {} if subnet is None else {"subnet-id": subnet}
            control(self.config, f"lease{self.config['family']}-wipe", of_one)
        else:
            store.remove_files(self.config)
            control(self.config, "config-reload")
        return before, leases(self.config)

    def writes_leases(self):
        """As in the base class; not where they are in a database."""
        return not database.has_leases(self.config) and super().writes_leases()

    def syncs(self):
        """Whether the database of its leases is on this host: it does not sync its file."""
        return database.has_leases(self.config) and not is_distant(self.config)

    def syncing(self):
        """Return the pid of that."""
        return check_running(self.config)

    def taken(self):
        """Return one sample, with how many leases were written."""
        reading = super().taken()
        return {
            **reading,
            "written": written(reading["counters"], *self.config["written_counters"]),
        }

    def peer(self, address):
        """Name its partner and its database."""
        is_partner = address and address == self.config["pair_partner"]
        return "partner" if is_partner else super().peer(address)

    def beside_cpu_s(self):
        """Return the CPU time of its database, its poller and its delayed link."""
        beside = super().beside_cpu_s()
        if self.config["poller"]:
            beside["poller"] = sampling.used([self.config["poller"]])[0]
        for link in database.links(self.config):
            beside["link"] = sampling.used([link])[0]
        return beside

    def counted(self):
        """Return its statistics and its leases."""
        held = leases(self.config, self.ANSWER_S)
        names = self.config["counters"]
        return {name: statistic(self.config, name, self.ANSWER_S) for name in names}, held

    def holders(self):
        """Return the client of each leased address."""
        return dict(store.leases(self.config))

    def crash(self):
        """Kill every process at once, without a signal that it could handle."""
        pids = [pid for one in self.processes() if (pid := process.running_pid(one))]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return {"was_running": bool(pids)}

    def restart(self):
        """Start it again after a crash, with what it holds."""
        Path(self.config["control_socket"]).unlink(missing_ok=True)
        child, version = super().launch()
        pair.check_clock(self.config)
        if self.config["agent"]:
            pair.start_agent(self.config["agent"])
        return {"pid": child.pid, "version": version}

    def cut(self):
        """Drop what goes to its partner; return the mode in which both then serve.

        Servers with one database promise the same as before: the other waits for it.
        """
        interface.cut_off(self.config["pair_partner"])
        state = self.config["pair_state"]
        return {"mode": f"{state}-partition" if state else "connected"}

    def rejoin(self):
        """Let it reach its partner again."""
        interface.rejoin(self.config["pair_partner"])
        return {}

    def stop(self):
        """End it, its companion services, and its database."""
        if self.config["pair_partner"]:
            self.rejoin()
        ended = super().stop()
        poller = self.config["poller"]
        helpers = [*([poller] if poller else []), *database.links(self.config)]
        helped = [process.end(helper) for helper in helpers]
        return {"was_running": ended["was_running"] or any(helped)}

    def processes(self):
        """Return Kea and, where a pair needs one, its control agent."""
        agent = self.config["agent"]
        return [self.config["process"], *([agent["process"]] if agent else [])]


def written(counters, served, reused):
    """Return how many leases were written: those served but for the ones that the cache saved.

    None where a counter is missing.
    """
    if served not in counters or reused not in counters:
        return None
    return counters[served] - counters[reused]
