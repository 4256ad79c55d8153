#!/usr/bin/python
"""Ansible module: import a root filesystem as a Docker image.

community.docker has no module for the engine's import.
"""

from __future__ import annotations

import json

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: docker_lab_import
short_description: Import a tar of a root filesystem as a Docker image
description:
  - Like C(docker import), through the Docker SDK, so that no command line client is needed.
options:
  path:
    description: The tar file, on the host the module runs on.
    type: path
    required: true
  repository:
    description: Name of the image.
    type: str
    required: true
  tag:
    description: Tag of the image.
    type: str
    required: true
  changes:
    description: Dockerfile instructions applied to the image, such as C(CMD) and C(LABEL).
    type: list
    elements: str
    default: []
author: the leaselab maintainers
"""


def image_id(answer: str) -> str:
    """Return the image id in the engine's answer (JSON lines), or "" without one."""
    for line in answer.splitlines():
        status = str(json.loads(line).get("status", ""))
        if status.startswith("sha256:"):
            return status
    return ""


def main() -> None:
    """Import the file; always a change, the caller asks first whether the image exists."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "repository": {"type": "str", "required": True},
            "tag": {"type": "str", "required": True},
            "changes": {"type": "list", "elements": "str", "default": []},
        }
    )
    import docker  # noqa: PLC0415 - only the interpreter that runs the module has it

    params = module.params
    failed = f"{params['path']}: the engine did not import it"
    try:
        answer = docker.from_env(timeout=300).api.import_image(
            src=params["path"],
            repository=params["repository"],
            tag=params["tag"],
            changes=params["changes"],
        )
    except (docker.errors.DockerException, OSError) as error:
        module.fail_json(msg=f"{failed}: {error}")
    found = image_id(answer)
    if not found:
        module.fail_json(msg=f"{failed}: {answer.strip()}")
    module.exit_json(changed=True, image_id=found)


if __name__ == "__main__":
    main()
