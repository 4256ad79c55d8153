"""Small slowdowns of a server, as C that is C++ as well, and where they go in its source."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD = """#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* What a compiler may not leave out, or move. */
#define KEEP __asm__ volatile ("" ::: "memory")
"""
"""What the slowdowns need, after the first header of the file: that may want to be it."""
FIRST = re.compile(r"^#\s*include[^\n]*\n", re.MULTILINE)
CALL = "leaselab_mutant"
"""The function that a packet calls."""
FUNCTION = "static void {call}(void)\n{{\n  {body}\n}}\n\n"


@dataclass(frozen=True, slots=True)
class Hook:
    """Where the source of a kind of server handles a packet."""

    file: str
    function: str
    """The head of its definition, up to the brace."""


HOOKS = {
    "dnsmasq": Hook("src/dhcp.c", "void dhcp_packet(time_t now, int pxe_fd)\n{"),
    "kea": Hook(
        "src/bin/dhcp4/dhcp4_srv.cc",
        "void\nDhcpv4Srv::processPacketAndSendResponse(Pkt4Ptr query) {",
    ),
}
MUTANTS = {
    "loop": "for (int i = 0; i < 300; i++) KEEP;",
    "division": """
  for (long i = 1; i < 80; i++) {
    volatile long x = 1L << 60;
    x = x / i;
  }""",
    "allocation": """
  for (int i = 0; i < 10; i++) {
    char *p = (char *) malloc(100);
    if (p) p[0] = 1;
    KEEP;
    free(p);
  }""",
    "leak": """
  char *p = (char *) malloc(64);
  if (p) p[0] = 1;
  KEEP;""",
    "linear search": """
  static int table[500];
  volatile int place = 0;
  table[499] = 1;
  while (!table[place]) place = place + 1;""",
    "copy": """
  static char from[8192], to[8192];
  memcpy(to, from, sizeof to);
  __asm__ volatile ("" :: "r" (from), "r" (to) : "memory");""",
    "clear": """
  char buffer[16384];
  memset(buffer, 0, sizeof buffer);
  __asm__ volatile ("" :: "r" (buffer) : "memory");""",
    "string": """
  static char text[1024];
  volatile size_t sum = 0;
  memset(text, 'a', sizeof text - 1);
  for (int i = 0; i < 5; i++) {
    text[i] = 'b';
    sum = sum + strlen(text);
  }""",
    "format": """
  char buffer[64];
  volatile int n = 0;
  for (int i = 0; i < 3; i++) n = snprintf(buffer, sizeof buffer, "%d %s", i + n, "name");""",
    "branches": """
  static unsigned seed = 1;
  volatile int taken = 0;
  for (int i = 0; i < 100; i++) {
    seed = seed * 1664525u + 1013904223u;
    if (seed >> 31) taken = taken + 1;
  }""",
    "lock": """
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }""",
    "atomic": """
  static int shared;
  for (int i = 0; i < 50; i++) __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);""",
    "system call": "for (int i = 0; i < 10; i++) syscall(SYS_getppid);",
    "clock": """
  struct timespec now;
  for (int i = 0; i < 20; i++) clock_gettime(CLOCK_MONOTONIC, &now);""",
    "log line": """
  static int log = -1;
  if (log < 0) log = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dprintf(log, "a packet of %d bytes has come\\n", 300);""",
    "file": """
  char buffer[64];
  int file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, buffer, sizeof buffer) < 0) buffer[0] = 0;
  close(file);""",
    "sync": """
  static FILE *file = NULL;
  if (!file) file = tmpfile();
  if (!file) return;
  rewind(file);
  fputs("lease", file);
  fflush(file);
  fdatasync(fileno(file));""",
    "sleep": "usleep(50);",
    "cache misses": """
  static char *table = NULL;
  static unsigned seed = 1;
  const size_t size = 1u << 26;
  if (!table) table = (char *) calloc(1, size);
  for (int i = 0; table && i < 20; i++) {
    seed = seed * 1664525u + 1013904223u;
    table[seed % size]++;
  }""",
    "page faults": """
  const size_t size = 16 * 4096;
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  for (size_t i = 0; i < size; i += 4096) ((char *) p)[i] = 1;
  munmap(p, size);""",
}
"""Slowdowns by name: what the function does for each packet."""


def mutated(source: str, hook: Hook, name: str) -> str:
    """Return the text of a hook's file in which each packet does what a mutant does."""
    body = FUNCTION.format(call=CALL, body=MUTANTS[name])
    before, head, after = source.partition(hook.function)
    first = FIRST.search(before)
    if not head or first is None or hook.function in after:
        message = (
            f"{hook.file} has not one function {' '.join(hook.function.split())} after a header"
        )
        raise ValueError(message)
    before = f"{before[: first.end()]}{HEAD}{before[first.end() :]}"
    return f"{before}{body}{head}\n  {CALL}();\n{after}"
