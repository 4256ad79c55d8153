"""Where a program may write: below one folder, enforced by the kernel (Landlock).

A container needs no privilege for it, unlike for a mount of its own.  It covers every folder
that all users may write to, wherever the builder has one, so that no list of them is kept.
"""

import ctypes
import os

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""Numbers of the system calls, the same for every architecture."""
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVS = 1, 1, 38
_ABI_MIN = 2
"""Linux 5.19; before that, no file could be renamed from one folder to another."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")

_WRITE, _TRUNCATE, _IOCTL = 1 << 1, 1 << 14, 1 << 15
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER = 1 << 13
_SINCE = {3: _TRUNCATE, 5: _IOCTL}
"""Rights that later versions of the interface added."""

_libc = ctypes.CDLL(None, use_errno=True)


def version():
    """Return the version of the interface that the kernel has; 0 without it."""
    return max(_libc.syscall(_CREATE, None, 0, _VERSION), 0)


def is_there():
    """Whether the kernel confines a build by it."""
    return version() >= _ABI_MIN


def writable_below(folder):
    """Return the rules for a folder, as a descriptor for `restrict`; the caller closes it."""
    abi = version()
    added = sum(right for since, right in _SINCE.items() if abi >= since)
    handled = _WRITE | _REMOVE | _MAKE_DEVICE | _MAKE | _REFER | added
    attributes = ctypes.c_uint64(handled)
    rules = _checked(_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    _allow(rules, folder, handled & ~_MAKE_DEVICE)
    for device in _DEVICES:
        _allow(rules, device, handled & (_WRITE | _TRUNCATE | _IOCTL))
    return rules


def restrict(rules):
    """Take all other rights to write from this process and what it starts."""
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _checked(_RESTRICT, rules, 0)


class _Beneath(ctypes.Structure):
    """What the kernel calls landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _allow(rules, path, rights):
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(rights, place)
        _checked(_ADD, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def _checked(*call):
    found = _libc.syscall(*call)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return found
