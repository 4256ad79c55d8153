"""Write what a play worked out, as Ansible templates it, without the processes of a module."""

from pathlib import Path

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """`content` as text, at the path `dest` of the machine that plays."""

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        Path(self._task.args["dest"]).write_text(self._task.args["content"], encoding="utf-8")
        return {**result, "changed": False}
