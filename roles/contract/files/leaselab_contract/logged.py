"""The log of a server in a file of its own, which is rotated while it serves."""

from pathlib import Path

from leaselab_contract import changed, process
from leaselab_contract.operations import operation


class WithLog:
    """A server that can open its log again; its process has `log_files` where it has a log."""

    def reopen_log(self):
        """Have it open the file of its log again."""
        raise NotImplementedError

    @operation(
        "rotate-log",
        "it has the new file of its log open, and the old one no more",
        lambda server: bool(server.config["process"].get("log_files")),
    )
    def rotate_log(self):
        """Move its log away and have it open a new one, as logrotate does."""
        path, pid = Path(self.config["process"]["log_files"][0]), self.running()
        old = path.stat().st_ino
        yield
        with changed.moved(path):
            self.reopen_log()
            wanted = {path.stat().st_ino}
            while process.open_files(pid) & {old, *wanted} != wanted:
                yield False
            yield True
