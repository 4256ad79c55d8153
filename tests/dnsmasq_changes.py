"""Changes of dnsmasq's source for a test's own commits: what breaks it, what slows it down."""

from tests.sources import change

REPLY = "  unsigned char *opt, *clid = NULL;\n  struct dhcp_lease *ltmp, *lease = NULL;\n"
"""A place in `src/rfc2131.c`, in the function that answers a packet."""
NOT_C = "  this is not C;\n"
PACKET = "void dhcp_packet(time_t now, int pxe_fd)\n{"
"""The head of the function in `src/dhcp.c` that each packet calls."""
SPIN = "\n  for (volatile long spun = 0; spun < 300000; spun++);"
"""Work for each packet, of about as long as all the rest."""
START = "void dhcp_init(void)\n{\n"
"""The head of the function in `src/dhcp.c` that is called once, as it starts."""
_SLOW = """static void answer_packet(time_t now, int pxe_fd);

static long since(const struct timespec *from)
{{
  struct timespec to;
  clock_gettime(CLOCK_MONOTONIC, &to);
  return (to.tv_sec - from->tv_sec) * 1000000000L + to.tv_nsec - from->tv_nsec;
}}

void dhcp_packet(time_t now, int pxe_fd)
{{
  struct timespec from;
  long spent;
  clock_gettime(CLOCK_MONOTONIC, &from);
  answer_packet(now, pxe_fd);
  spent = since(&from);
  while (since(&from) < spent + spent * {percent} / 100);
}}

static void answer_packet(time_t now, int pxe_fd)
{{"""


def break_build(path, *, minute):
    """Commit what does not compile; return the hash."""
    return change(path, "src/rfc2131.c", REPLY, NOT_C + REPLY, "Break the build", minute=minute)


def mend_build(path, new="", *, minute):
    """Commit the source without that, and with `new` in its place; return the hash."""
    return change(path, "src/rfc2131.c", NOT_C, new, "Mend it", minute=minute)


def slow_down(path, percent, *, minute):
    """Commit a server that takes `percent` longer to answer a packet, on whatever machine.

    Returns the hash.  Its completed rate falls by less: dnsmasq searches a list of its leases,
    so a trial that completes fewer has cheaper ones.
    """
    slow = _SLOW.format(percent=percent)
    return change(path, "src/dhcp.c", PACKET, slow, "Wait for the clock", minute=minute)
