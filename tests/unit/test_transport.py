"""The SSH connection in the hands of an interrupt."""

import paramiko
import pytest

from leaselab.lab.transport import Connection
from leaselab.model.bench import HostAccess


def test_an_interrupt_while_a_channel_is_opened_stays_an_interrupt(tmp_path):
    """paramiko then knows a channel that does not know its transport, and cannot close it."""
    client = paramiko.SSHClient()
    transport = client._transport = paramiko.Transport(Unconnected())
    channel = paramiko.Channel(0)
    transport._channels.put(0, channel)
    transport.active = True
    access = HostAccess("host", "192.0.2.1", "root", "key", str(tmp_path / "known_hosts"))
    with pytest.raises(KeyboardInterrupt), Connection(access, client):
        raise KeyboardInterrupt
    assert channel.transport is None


class Unconnected:
    """A socket that has nothing to say."""

    def settimeout(self, seconds):
        """Do nothing."""

    def close(self):
        """Do nothing."""
