"""A named.conf of the user's own: the form in which the lab runs it, and its zones.

Pure: what it includes is read by the `files` that it gets.
"""

from __future__ import annotations

import re

from leaselab.catalog.releases import bounds, needs_of
from leaselab.inputs.named.lab_form import NamedForm
from leaselab.inputs.named.statements import every
from leaselab.inputs.reader import Asked, Served, Text

FILES: tuple[str, ...] = ("named.conf",)
HAS_VIEWS = True
RECOGNISED = re.compile(
    r"^[ \t]*(?:options\s*\{|logging\s*\{|acl\s+[^\s{};]+\s*\{|"
    r'view\s+"?[^\s"{};]+"?\s+(?:\w+\s+)?\{|'
    r'zone\s+"?[^\s"{};]+"?\s+(?:IN\s+)?\{[^{}]{0,2000}?\b(?:type|file)\s)',
    re.MULTILINE | re.IGNORECASE,
)


def read(configuration: Text, asked: Asked) -> Served:
    """Return what a named.conf is as a server of the lab; as of `reader.Reader`."""
    text, files = configuration
    form = NamedForm(text, files, asked.without, asked.view)
    words = {one.name: one.spot for one in every(form.statements)}
    said, options = bounds("bind9", needs_of("bind9", words))
    return Served(
        kind="bind9",
        server={"text": form.text},
        options=options,
        changes=form.changes,
        left_out=form.left_out,
        load="dns-zones",
        zones=form.zones,
        zones_beside=form.beside,
        unserved=form.reasons(
            "forwarders", "forward", "secondary", "stub", "mirror", "raw", "zone-name"
        ),
        releases=said,
    )
