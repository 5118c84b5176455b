"""Approvals: one for each exact definition, kept where no project can write."""

from pathlib import Path

import pytest

from prunecli.safety.approvals import Approvals
from prunecli.util.errors import ConfigError

SERVER = {"command": "npx", "args": ["-y", "server"]}


def test_an_approval_holds_for_one_directory_kind_name_and_definition(tmp_path: Path) -> None:
    store = tmp_path / "data" / "approvals.json"
    Approvals(store).approve(tmp_path, "mcp", "files", SERVER)
    again = Approvals(store)
    assert again.has(tmp_path, "mcp", "files", dict(reversed(SERVER.items())))
    assert not again.has(tmp_path, "mcp", "files", {**SERVER, "args": ["-y", "other"]})
    assert not again.has(tmp_path, "hook", "files", SERVER)
    assert not again.has(tmp_path, "mcp", "file", SERVER)
    assert not again.has(tmp_path / "sub", "mcp", "files", SERVER)
    assert again.revoke(tmp_path, "mcp", "files")
    assert not again.has(tmp_path, "mcp", "files", SERVER)
    assert not again.revoke(tmp_path, "mcp", "files")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1}', '{"version": 1, "approvals": {"a": 1}}', "\xff"]
)
def test_a_damaged_file_approves_nothing_and_is_not_overwritten(tmp_path: Path, text: str) -> None:
    store = tmp_path / "approvals.json"
    store.write_text(text, encoding="latin-1")
    assert not Approvals(store).has(tmp_path, "mcp", "files", SERVER)
    assert "not a list of approvals" in Approvals(store).problem
    with pytest.raises(ConfigError, match="not a list of approvals"):
        Approvals(store).approve(tmp_path, "mcp", "files", SERVER)
    assert store.read_text(encoding="latin-1") == text


def test_a_file_that_others_can_write_approves_nothing(tmp_path: Path) -> None:
    store = tmp_path / "approvals.json"
    Approvals(store).approve(tmp_path, "hook", "Stop", SERVER)
    store.chmod(0o666)
    assert not Approvals(store).has(tmp_path, "hook", "Stop", SERVER)
