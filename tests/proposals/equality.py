"""Applying equals doing, for commands drawn by a seed: `python -m tests.proposals.equality FOLDER FIRST COUNT`.

Each seed grows a workspace by COMMANDS commands, on a layer that is applied, and beside it directly. Prints the first
command after which the trees differ. A program of its own, so that other users can run it too.
"""

import asyncio
import random
import shlex
import subprocess
import sys
from pathlib import Path

from prunecli.safety.proposals.apply import Applied, apply
from tests.proposals.laying import Trial, chosen_here, tree, trial

COMMANDS = 10
FOLDERS = (".", "src", "src/deep", "lib", "with space", "new\nline")
FILES = ("a", "b.py", "c.txt", "ünïcode", "-dash", "trailing.", "bytes\udcff", "quote'\"", "x")
MODES = ("644", "755", "600", "444", "640", "400", "4755", "777")
FOLDER_MODES = ("755", "700", "750", "2755", "1777")


def path(draw: random.Random) -> str:
    return _quoted(f"{draw.choice(FOLDERS)}/{draw.choice(FILES)}")


def _quoted(text: str) -> str:
    return "./" + shlex.quote(text)


def folder(draw: random.Random) -> str:
    return _quoted(draw.choice(FOLDERS[1:]))


def operation(draw: random.Random) -> str:
    one, two, at = path(draw), path(draw), folder(draw)
    number = draw.randrange(1000)
    return draw.choice(
        [
            f"echo {number} > {one}",
            f"echo {number} >> {one}",
            f"seq {number} > {one}",
            f"mv -f {one} {two}",
            f"cp {one} {two}",
            f"cp -p {one} {two}.copy; mv -f {two}.copy {two}",
            f"rm -f {one}",
            f"rm -rf {at}",
            f"rm -rf {at}; mkdir -p {at}",
            f"mkdir -p {at}/inner/most; echo {number} > {at}/inner/most/f",
            f": move; mv {at} {folder(draw)}/moved{number % 3}",
            f": move; mv {at} swap; mv {folder(draw)} {at}; mv swap {at}/swapped",
            f"rmdir {at}/inner/most {at}/inner",
            f"ln -s {one} {two}",
            f"ln -sfn {draw.choice(['nowhere', '..', '/etc/hostname', 'a'])} {two}",
            f"ln {one} {two}",
            f"ln -f {one} {two}",
            f"chmod {draw.choice(MODES)} {one}",
            f"chmod {draw.choice(FOLDER_MODES)} {at}",
            f"truncate -s {number}K {one}",
            f"dd if=/dev/zero of={one} bs=1 count=1 seek={number * 4096} conv=notrunc status=none",
            f"dd if=/dev/urandom of=/dev/null count=1 status=none; printf x | dd of={one} conv=notrunc status=none",
            f"mkfifo {at}/pipe",
            f"sed -i s/1/{number}/ {one}",
            f"touch -d @{1_500_000_000 + number} {two}",
            f"mkdir -p copies; cp -r {at} copies/{number % 3}",
            f"mkdir -p copies; cp -a {at} copies/{number % 3}",
            f"tar --mtime=@1 --sort=name -cf {one}.tar {at}; mkdir -p unpacked; tar xf {one}.tar -C unpacked",
            f"python3 -c 'import os,sys; os.rename(*sys.argv[1:])' {one} {two}",
            f'python3 -c \'import mmap,sys; f=open(sys.argv[1],"r+b"); m=mmap.mmap(f.fileno(),0); m[:1]=b"m"\' {one}',
            "git init -q repo; cd repo && { git add -A .; git commit -qm new; cd ..; }",
            f"echo {number} > repo/f{number % 3}; cd repo && {{ git add -A .; git commit -qm {number}; cd ..; }}",
            f"cd repo && {{ git checkout -q -b b{number}; git mv f1 g; git commit -qm moved; cd ..; }}",
            f"cd repo && {{ git tag t{number}; git checkout -q master; git stash -qu; cd ..; }}",
            "cd repo && { git reset -q --hard HEAD~1; git gc -q; cd ..; }",
        ]
    )


def command(draw: random.Random) -> str:
    """Without a folder that is moved after a file in it got a name elsewhere: overlays have no names for that."""
    lines = [operation(draw) for _ in range(draw.randint(1, 6))]
    if any(line.startswith(": move") for line in lines):
        lines = [line for line in lines if not line.startswith("ln ")]
    return "\n".join(["exec 2> /dev/null", *lines, "true"])


def seen(work: Path) -> dict[str, object]:
    """The tree, with each index as git reads it: it holds times and inode numbers."""
    found: dict[str, object] = dict(tree(work))
    for name in [name for name in found if name.endswith(".git/index")]:
        words = ["git", "-c", "safe.directory=*", "ls-files", "-s"]
        at = work / name.removesuffix(".git/index")
        found[name] = subprocess.run(words, cwd=at, capture_output=True, check=False).stdout
    return found


async def differs(one: Trial, other: Trial, seed: int) -> str:
    """The first difference, "" for none."""
    draw = random.Random(seed)
    for each in (one, other):
        for at in FOLDERS:
            (each.workspace / at).mkdir(parents=True, exist_ok=True)
        (each.workspace / "a").write_text("first\n")
    for count in range(COMMANDS):
        line = command(draw)
        before = seen(one.workspace)
        _, code = await one.run(line)
        if seen(one.workspace) != before:
            return f"seed {seed}, command {count}: something was changed before an answer:\n{line}"
        proposal = one.freeze()
        _, wanted = other.direct(line)
        if proposal.refused:
            if any("same file as" not in why and "other names" not in why for _, why in proposal.refused):
                return f"seed {seed}, command {count}: refused: {proposal.refused}:\n{line}"
            one.direct(line)
        elif proposal.stale or not isinstance(apply(proposal), Applied):
            return f"seed {seed}, command {count}: stale: {proposal.stale}:\n{line}"
        one.drop()
        got, should = seen(one.workspace), seen(other.workspace)
        if got != should or code != wanted:
            pairs = [(name, got.get(name), should.get(name)) for name in sorted({*got, *should})]
            different = "\n".join(repr(pair) for pair in pairs if pair[1] != pair[2])
            return f"seed {seed}, command {count}: {code} {wanted}\n{different}\nafter\n{line}"
    return ""


def main() -> int:
    """Print what differs; 1 if something does."""
    top, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chosen = chosen_here(top)
    if not chosen.overlays:
        print(f"no overlays here: {chosen.why}")
        return 2
    for seed in range(first, first + count):
        with trial(top / f"{seed}-tried", chosen) as one, trial(top / f"{seed}-done", chosen) as other:
            if said := asyncio.run(differs(one, other, seed)):
                print(said)
                return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
