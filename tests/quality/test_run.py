"""The harness on one task, against the scripted endpoint."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.endpoint import Call, Reply, serve
from tests.quality.run import SETTINGS, main

FIX = Call("bash", {"command": "echo ONE = 1 > one.py"})


def test_a_task_is_solved_graded_and_predicted_with_each_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "one.py").write_text("ONE = 2\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "wrong")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    task = {
        "instance_id": "one__one-1",
        "problem_statement": "ONE is 2.",
        "folder": str(repository),
        "tests": "python3 -c 'import one; assert one.ONE == 1'",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    with serve(["I can't.", Reply([FIX]), "Done."]) as endpoint:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "ANTHROPIC_API_KEY": "sk-ant-test",
        }
        words = [str(tmp_path / "tasks.jsonl"), "--to", str(tmp_path / "to")]
        main(words, {**environ, "ANTHROPIC_BASE_URL": endpoint.base_url})
        assert [one.refusal for one in endpoint.rejected] == []
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("no_pruning   1 tasks · 0 of 1 solved · $")
    assert said[1].startswith("auto         1 tasks · 1 of 1 solved · $")
    assert said[2] == "solved only without pruning: 0, only with it: 1"
    made = {name: json.loads((tmp_path / "to" / f"{name}.preds.jsonl").read_text()) for name in SETTINGS}
    assert made["no_pruning"]["model_patch"] == ""
    assert "+ONE = 1" in made["auto"]["model_patch"]
