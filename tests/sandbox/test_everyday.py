"""Everyday work inside bubblewrap."""

import shutil
from pathlib import Path

import pytest

from tests.sandbox.confining import Box, boxed, needs_bubblewrap
from tests.sandbox.test_walls import repository

C = "int main(void) { return 0; }"
SERVER = (
    "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & "
    "for i in $(seq 100); do python3 -c \"import urllib.request as r; print(r.urlopen('http://127.0.0.1:8123/a.txt')"
    '.read().decode())" 2>/dev/null && exit 0; done; exit 1'
)


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("git", "git status --short && git diff && git log --oneline"),
        ("cc", f"echo '{C}' > p.c && cc -o p p.c && ./p"),
        ("make", "printf 'all:\\n\\techo made > made.txt\\n' > Makefile && make -j2 && cat made.txt"),
        (
            "node",
            "node -e \"require('fs').writeFileSync('n.txt', require('os').hostname()); console.log(1)\"",
        ),
        ("npm", 'echo \'{"scripts":{"test":"node -e 1"}}\' > package.json && npm test'),
        ("cargo", "cargo init -q --vcs none --name p . && cargo build -q --offline && ./target/debug/p"),
        ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'import ssl, sqlite3'"),
        (
            "python3",
            "echo 'x = 1' > x.py && python3 -m compileall -q . && python3 -m unittest x",
        ),
        ("python3", "python3 -c 'from multiprocessing import Pool; print(Pool(2).map(abs, [-1]))'"),
        ("python3", SERVER),
        (
            "tar",
            "mkdir t && touch t/a && tar czf t.tgz t && tar xzf t.tgz && cp -p t/a b && chmod 755 b && rm -r t",
        ),
        ("bash", "f=$(mktemp) && echo x > $f && sort $f && cat <<< here && diff <(echo a) <(echo a)"),
        (
            "bash",
            "locale >/dev/null; date; id; echo > /dev/null; echo out > /dev/stdout; printf x | tee y",
        ),
        ("bash", "ls -la ~ / /tmp >/dev/null && find . -name '*.txt' | xargs grep -l a && ps aux >/dev/null"),
        ("rg", "rg a"),
    ],
)
async def test_it_works(box: Box, program: str, command: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    workspace = box.context.workspace
    repository(workspace)
    env = {**box.context.env, "HOME": str(Path.home())} if program == "cargo" else box.context.env
    output = await box.with_(env=env).output("bash", command=command)
    assert not output.is_error, output.content


async def test_limits_bind(tmp_path: Path) -> None:
    from prunecli.safety.sandbox.sandbox import Limits

    with boxed(tmp_path, needs_bubblewrap(), limits=Limits(processes=64, memory_mb=64)) as box:
        assert await box.run("ulimit -u; ulimit -d") == ("64\n65536\n", 0)
        text, code = await box.run("python3 -c 'bytearray(200_000_000)'")
        assert code
        assert "MemoryError" in text
    with boxed(tmp_path, needs_bubblewrap(), limits=Limits(file_mb=3)) as box:
        text, code = await box.run("head -c 2M /dev/zero > /tmp/a && head -c 5M /dev/zero > /tmp/b")
        assert code
        assert await box.run("stat -c %s /tmp/a /tmp/b") == ("2097152\n3145728\n", 0)


async def test_folders_in_memory_are_bounded(box: Box) -> None:
    text, _ = await box.run("df -B1 --output=size /var/tmp /run /dev/shm | tail -3")
    assert {int(size) for size in text.split()} == {1 << 30}


@pytest.mark.parametrize("command", ["npm install left-pad", "npx --yes left-pad", "pip download left-pad"])
async def test_without_network_a_package_manager_gives_up_at_once(box: Box, command: str) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"needs {command.split()[0]}")
    output = await box.output("bash", command=command, timeout=60)
    text = str(getattr(output.content[0], "text", ""))
    assert output.details["exit_code"], text
    assert "[blocked by the sandbox: the network is off" in text
