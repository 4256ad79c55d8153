"""The allow-list of the pipeline's tests: what the plugins of a plugins.txt provide.

`jobs/controller/provides.yaml` says what Jenkins itself (`core`) and each plugin is there for;
its `steps` are steps, options, symbols and conditions alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def allowed(controller: Path) -> dict[str, Any]:
    """Read a controller's folder: {"plugins": [installed], "provides": {plugin: [names]}}."""
    lines = (controller / "plugins.txt").read_text(encoding="utf-8").splitlines()
    text = (controller / "provides.yaml").read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    offers = {"core": document["core"], **document["plugins"]}
    return {
        "plugins": [line.split(":")[0].strip() for line in lines if line and line[0] != "#"],
        "provides": {plugin: things.get("steps", []) for plugin, things in offers.items()},
    }
