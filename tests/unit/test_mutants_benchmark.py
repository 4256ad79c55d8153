"""`leaselab dev bench mutants`: each slowdown goes where a packet is handled, and compiles."""

import subprocess

import pytest
from benchmarks._mutants import CALL, HOOKS, MUTANTS, mutated
from tests.waiting import HANGS_S

SERVERS = {
    "dnsmasq": (
        *("cc", "c"),
        "{function}\n  (void) now, (void) pxe_fd;\n}}\n",
        "dhcp_packet(0, 0);",
    ),
    "kea": (
        *("c++", "c++"),
        "typedef int Pkt4Ptr;\n"
        "struct Dhcpv4Srv {{ void processPacketAndSendResponse(Pkt4Ptr); }};\n"
        "{function}\n  (void) query;\n}}\n",
        "Dhcpv4Srv().processPacketAndSendResponse(0);",
    ),
}
"""Of each kind of server: compiler, language, a file that has nothing but the hook's function,
and a packet."""


FIRST = """#ifdef _STDIO_H
#error stdio.h comes before the header of the server
#endif
"""
"""As in dnsmasq."""


def source_of(kind):
    """A program that handles three packets."""
    _, _, file, packet = SERVERS[kind]
    text = file.format(function=HOOKS[kind].function)
    return f"{FIRST}#include <time.h>\n{text}int main(void) {{ {3 * packet} return 0; }}\n"


@pytest.mark.parametrize("kind", HOOKS)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_slowdown_is_compiled_and_runs_with_each_packet(kind, name, tmp_path):
    compiler, language, *_ = SERVERS[kind]
    program = tmp_path / "server"
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", "-x", language, "-", "-pthread")
    text = mutated(source_of(kind), HOOKS[kind], name)
    made = [compiler, *flags, "-o", program]
    done = subprocess.run(made, input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    subprocess.run([program], check=True, timeout=HANGS_S)


@pytest.mark.parametrize("kind", HOOKS)
def test_the_slowdown_is_the_first_thing_that_the_function_does(kind):
    text = mutated(source_of(kind), HOOKS[kind], "loop")
    assert text.count(f"{HOOKS[kind].function}\n  {CALL}();\n") == 1
    assert text.index(f"static void {CALL}(void)") < text.index(HOOKS[kind].function)


@pytest.mark.parametrize("times", [0, 2])
def test_a_source_without_that_one_function_is_refused(times):
    hook = HOOKS["dnsmasq"]
    with pytest.raises(ValueError, match=r"src/dhcp\.c has not one function void dhcp_packet"):
        mutated(times * f"{hook.function}\n}}\n", hook, "loop")
