"""A believable record of a build, for tests of what reads one."""

from leaselab.builds.artifacts import FORMAT

ASKED = {
    "name": "dnsmasq",
    "commit": "c" * 40,
    "tree": "d" * 40,
    "options": {"cflags": "-O2"},
}
ANSWER = {
    **ASKED,
    "described": "v2.91-3-gcccccccccc",
    "format": FORMAT,
    "key": "0123456789abcdef01234567",
    "prefix": "/opt/leaselab/builds/0123456789abcdef01234567",
    "system": "make",
    "builder": {
        "distribution": "debian 13",
        "architecture": "x86_64",
        "compiler": "c++ (Debian 14.2.0-19) 14.2.0",
        "packages": "f" * 24,
    },
    "seconds": {"make": 3.1, "total": 4},
    "artifact_sha256": "a" * 64,
    "artifact_bytes": 123456,
    "runtime_packages": {"libc6": "2.41-12", "libdbus-1-3": "1.16.2-2+b1"},
    "cached": False,
}
