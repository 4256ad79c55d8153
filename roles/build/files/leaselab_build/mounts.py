"""Where a program may write, on a kernel without Landlock: below one folder of its own mounts.

All other mounts are read-only to it.  That needs a privilege which a host's root has, and a
container's has not.
"""

import ctypes
import os
from pathlib import Path

_MOUNT_SETATTR = 442
"""Number of the system call (Linux 5.12), the same for every architecture."""
_HERE = -100
_RECURSIVE, _READ_ONLY = 0x8000, 1
_NEW_MOUNTS = 0x20000
_BIND, _PRIVATE = 1 << 12, 1 << 18 | 1 << 14

_libc = ctypes.CDLL(None, use_errno=True)


def restrict(folder):
    """Let this process, and what it starts, write below a folder alone; for root.

    Programs without privileges cannot take it off: the kernel locks mounts that a user
    namespace inherits.
    """
    here, path = Path.cwd(), os.fsencode(folder)
    _checked(_libc.unshare(_NEW_MOUNTS))
    _checked(_libc.mount(None, b"/", None, _PRIVATE, None))
    _checked(_libc.mount(path, path, None, _BIND, None))
    _set(b"/", _RECURSIVE, added=_READ_ONLY)
    _set(path, 0, removed=_READ_ONLY)
    os.chdir(here)  # which was entered by way of the mount that is read-only now


class _Attributes(ctypes.Structure):
    """What the kernel calls mount_attr."""

    _fields_ = (
        ("added", ctypes.c_uint64),
        ("removed", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def _set(path, flags, added=0, removed=0):
    attributes = _Attributes(added, removed, 0, 0)
    size = ctypes.sizeof(attributes)
    _checked(_libc.syscall(_MOUNT_SETATTR, _HERE, path, flags, ctypes.byref(attributes), size))


def _checked(found):
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounts of its own: {os.strerror(number)}")
