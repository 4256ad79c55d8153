"""How a verb fails: one line, and the exit status that says whose fault it is."""


class ContractError(Exception):
    """A failure of the server itself; the text is the one line for standard error."""

    status = 1


class LabError(ContractError):
    """The lab below a server fails: its database, its disk, AppArmor, what the host lacks."""

    status = 4


def last_line(*texts):
    """Return the last line of the first text that has one."""
    for text in texts:
        lines = text.strip().splitlines()
        if lines:
            return lines[-1]
    return "no reason given"
