"""Lists every text of the program, to read them one after the other: `python -m tests.texts errors`.

Kinds: `errors` (messages of exceptions), `screen` (other strings with words), `docstrings`, `comments`, `readme`
(sentences of the Markdown files). `--sample 40 --seed 7` draws 40 at random from the given kinds, by default all.
"""

import argparse
import ast
import random
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = ("errors", "screen", "docstrings", "comments", "readme")
_WORDS = re.compile(r"[A-Za-z]{2,} [a-zA-Z(]")

Text = tuple[str, str]
"""Where it stands, and what it says."""


def python_texts(path: Path) -> Iterator[tuple[str, Text]]:
    """The texts of a module with their kinds."""
    tree = ast.parse(path.read_text("utf-8"))
    where = path.relative_to(ROOT).as_posix()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    raised = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    docs = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, documented):
            for statement in node.body:
                value = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    docs.add(id(value))
                    yield "docstrings", (f"{where}:{statement.lineno}", value.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | inside:
            said = node.value
        else:
            continue
        if _WORDS.search(said):
            yield ("errors" if id(node) in raised else "screen"), (f"{where}:{node.lineno}", said)
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT and _WORDS.search(token.string):
                yield "comments", (f"{where}:{token.start[0]}", token.string.lstrip("# "))


def sentences(path: Path) -> Iterator[Text]:
    """The sentences of a Markdown file, code aside."""
    text = re.sub(r"```.*?```|^ {4}[^\n]*$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=[*|#-])", text):
        for sentence in re.split(r"(?<=[.:?])\s+(?=[A-Z*`])", " ".join(paragraph.split())):
            if _WORDS.search(sentence):
                yield path.relative_to(ROOT).as_posix(), sentence


def texts() -> dict[str, list[Text]]:
    """All texts by kind."""
    found: dict[str, list[Text]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "prunecli").rglob("*.py")):
        for kind, text in python_texts(path):
            found[kind].append(text)
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "prunecli").rglob("README.md"))
    for path in sorted(pages):
        found["readme"] += sentences(path)
    return found


def main() -> None:
    """Prints the texts."""
    parser = argparse.ArgumentParser(description="Print every text of the program.")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--sample", type=int, help="how many to draw at random")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chosen = [text for kind in given.kinds for text in texts()[kind]]
    if given.sample:
        chosen = random.Random(given.seed).sample(chosen, given.sample)
    for where, said in chosen:
        print(f"{where}\t{' '.join(said.split())}")


if __name__ == "__main__":
    main()
