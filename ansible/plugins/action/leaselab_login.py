# ruff: noqa: ANN401 - Ansible's own objects carry no types
"""Ansible action: how Ansible would reach and become root on the host of a task.

Nothing is connected.  Ansible has resolved the options of the host's connection by then, from
variables with all their aliases, environment and ansible.cfg.  The task's ``login``, and with
``stats=true`` the statistics of the play by host, have:

- ``connection``: the plugin, such as ``ssh``
- ``argv``: the command of the plugin ssh, without a remote command; None of other plugins, and
  where an option of `UNUSABLE` has a value or ssh's arguments do not parse
- ``options``: {option: [value, origin]} of those that the engine judges; of a secret, whether
  there is one
- ``become``: the same of the become plugin, with its name as ``method``; None without one
- ``variables``: the host's variables ``leaselab_*``, without templates
- ``unresolved``: {variable: why} of those whose templates cannot be resolved
"""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

UNUSABLE = ("password", "private_key", "pkcs11_provider")
JUDGED = ("host", "port", "ssh_args", "ssh_common_args", "ssh_extra_args", *UNUSABLE)
BECOME = ("become_user", "become_exe", "become_flags", "become_pass")
_SECRET = ("password", "private_key", "become_pass")


class ActionModule(ActionBase):
    """What Ansible would use; it changes nothing and asks no host."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Return it as statistics of the play."""
        result = super().run(tmp, task_vars)
        connection, become = self._connection, self._connection.become
        options = _options(connection, JUDGED)
        method = (
            {} if become is None else {"method": [become.name, "var: ansible_become_method"]}
        )
        answer = {
            "connection": connection.transport,
            "argv": _command(connection, options),
            "options": options,
            "become": become and {**method, **_options(become, BECOME)},
            **self._own_variables(task_vars),
        }
        result["login"] = answer
        if self._task.args.get("stats"):
            data = {task_vars["inventory_hostname"]: answer}
            result["ansible_stats"] = {"data": data, "per_host": False}
        return result

    def _own_variables(self, task_vars: Any) -> dict[str, dict[str, Any]]:
        variables, unresolved = {}, {}
        for name in task_vars:
            if not name.startswith("leaselab_"):
                continue
            try:
                variables[name] = self._templar.template(task_vars[name])
            except AnsibleError as error:
                unresolved[name] = str(error)
        return {"variables": variables, "unresolved": unresolved}


def _options(plugin: Any, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Value and origin of each option that the plugin has."""
    options = {}
    for name in names:
        if name in plugin.option_definitions:
            value, origin = plugin.get_option_and_origin(name)
            options[name] = [bool(value) if name in _SECRET else value, origin]
    return options


def _command(connection: Any, options: dict[str, list[Any]]) -> list[str] | None:
    if connection.transport != "ssh" or any(options[name][0] for name in UNUSABLE):
        return None
    host = connection.get_option("host")
    try:
        argv = connection._build_command(connection.get_option("ssh_executable"), "ssh", host)
    except ValueError:
        return None
    return [word.decode() for word in argv]
