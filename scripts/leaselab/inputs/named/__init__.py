"""A named.conf of the user's own: the form in which the lab runs it, and its zones.

Pure: what it includes is read by the `files` that it gets.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, releases_of
from leaselab.inputs.named.lab_form import LabForm
from leaselab.inputs.named.statements import every

FILES = ("named.conf",)
RECOGNISED = re.compile(
    r"^[ \t]*(?:options\s*\{|logging\s*\{|acl\s+[^\s{};]+\s*\{|"
    r'view\s+"?[^\s"{};]+"?\s+(?:\w+\s+)?\{|'
    r'zone\s+"?[^\s"{};]+"?\s+(?:IN\s+)?\{[^{}]{0,2000}?\b(?:type|file)\s)',
    re.MULTILINE | re.IGNORECASE,
)


def read(text, without, _most_clients, files, _leases, view=""):
    """Return what a configuration is as a server of the lab, as `leaselab.inputs.own` has it.

    `files` has its file and finds others that it names; `without` are the words for what is
    to be left out of it; `view` is the one to measure, empty for the one of the lab's clients.
    Raises a usage error with the line for what the lab cannot have.
    """
    form = LabForm(text, str(files.file), without, files, view)
    words = {one.name: one.spot for one in every(form.statements)}
    said, options = bounds("bind9", releases_of("bind9").known(words))
    return {
        "server": {"text": form.text},
        "options": options,
        "changes": form.changes,
        "left_out": form.left_out,
        "load": "dns-zones",
        "zones": form.zones,
        "zones_beside": form.beside,
        "unserved": form.reasons("forwarders", "forward", "secondary", "stub", "mirror"),
        "releases": said,
    }
