"""Ask a running Kea for the statistics of its leases, again and again, as monitoring does.

    poll.py SOCKET COMMAND INTERVAL_S SUBNETS

Asks every INTERVAL_S seconds for the subnets 1 to SUBNETS; an answer that takes longer costs
the asks that it missed.  Prints once on standard output that it was answered.  Where Kea
refuses, it ends with a line that says why: a load without polls must not pass as one with them.
"""

import json
import socket
import sys
import time

ANSWER_S = 30.0
ANSWERED = "answered"
DONE = (0, 3)
"""Results of a command that was carried out; 3: it found nothing to return."""


def ask(path, command, subnets):
    """Ask once; raises OSError where nothing answers, RuntimeError where Kea refuses."""
    last = {"first-subnet-id": 1, "last-subnet-id": subnets}
    request = {"command": command, "arguments": {"subnet-range": last}}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(path)
        connection.sendall(json.dumps(request).encode())
        answer = b""
        while chunk := connection.recv(1 << 16):
            answer += chunk
    if not answer:
        raise ConnectionError("no answer")
    reply = json.loads(answer)
    if reply["result"] not in DONE:
        raise RuntimeError(f"{command}: {reply.get('text', reply)}")


def main(path, command, interval_s, subnets):
    """Ask until the process is ended."""
    due, announced = time.monotonic(), False
    while True:
        try:
            ask(path, command, subnets)
        except OSError:
            pass  # too busy, restarting or gone: the sampler reports that
        except RuntimeError as error:
            sys.exit(f"ERROR {error}")
        else:
            if not announced:
                sys.stdout.write(f"{ANSWERED}\n")
                sys.stdout.flush()
            announced = True
        now = time.monotonic()
        while due <= now:
            due += interval_s
        time.sleep(due - now)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
