"""A control socket as NSD and Unbound have one; it sends their recorded answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def answering(path: Path, answer: Callable[[str], str]) -> Iterator[list[str]]:
    """Answer each command on a socket; give the list of those that came."""
    asked: list[str] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return  # the test has ended
                with connection:
                    command = connection.makefile().readline().rstrip("\n")
                    asked.append(command)
                    connection.sendall(answer(command).encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(60)
