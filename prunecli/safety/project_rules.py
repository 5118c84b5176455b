"""The allow rules that the user keeps for a directory. They are stored in the user's own folder, out of a project's
reach.

They apply to one directory, by its real path, and only while it is trusted. Like all allow rules, they yield to deny
and ask rules.
"""

import os
from pathlib import Path

from prunecli.safety.permissions.places import Unresolvable, lies_in, real_path
from prunecli.safety.permissions.rules import parse_rule
from prunecli.safety.register import Register
from prunecli.util.errors import ConfigError


class ProjectRules:
    """The kept rules of one user. `path` is the file of rules, which need not exist.

    A file that is unreadable or writable by others is treated as empty; `problem` gives the reason.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._register = Register(path, "rules", "a list of rules", "the rule applies until you quit")

    @property
    def problem(self) -> str:
        return self._register.read()[1]

    def of(self, directory: Path) -> tuple[str, ...]:
        """Return the rules kept for a directory; none for one that contains their file."""
        names = sorted(self._register.read()[0])
        real = self._real(directory) if names else ""
        if not real:
            return ()
        rules = (name.removeprefix(f"{real}\n") for name in names if name.startswith(f"{real}\n"))
        return tuple(rule for rule in rules if _is_rule(rule))

    def keep(self, directory: Path, rule: str) -> None:
        """Keep a rule for a directory. Raises ConfigError if the rule is invalid or can't be stored."""
        parse_rule(rule)
        real = self._real(directory)
        if not real:
            raise ConfigError(f"{self._path}: is inside this directory", "the rule applies until you quit")
        with self._register.changing() as known:
            known[f"{real}\n{rule}"] = "allow"

    def remove(self, directory: Path, rule: str) -> bool:
        """Remove a rule; return whether it existed. Raises ConfigError."""
        if rule not in self.of(directory):
            return False
        with self._register.changing() as known:
            return known.pop(f"{self._real(directory)}\n{rule}", None) is not None

    def _real(self, directory: Path) -> str:
        """Return the directory's real path; "" if it can't be resolved or contains the file."""
        try:
            real, file = real_path(Path(os.path.abspath(directory))), real_path(self._path)
        except Unresolvable:
            return ""
        return "" if lies_in(file, real) else real


def _is_rule(text: str) -> bool:
    try:
        parse_rule(text)
    except ConfigError:
        return False
    return True
