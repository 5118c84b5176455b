"""The JSON schema of `--json-schema`: the instructions for the model, and the validation of its answer.

The schema comes from the user. Only references within it are followed; nothing is fetched. Answers are checked in a
process of their own with a time limit, because a pattern can take forever, and Python cannot interrupt a match.
"""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prunecli.model.codec import strict_loads
from prunecli.model.events import UserMessage
from prunecli.model.messages import Json
from prunecli.model.notes import notice
from prunecli.runtime.launch_flags import file_text
from prunecli.util.errors import PrunecliError, UsageError

FLAG = "--json-schema"
_INSTALL = "pip install 'prunecli[schema]'"
_FENCED = re.compile(
    r"^[ \t]*```(?:json)?[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_DATA = frozenset({"const", "default", "enum", "examples"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keys whose values map names to schemas."""
_MOST_PROBLEMS = 10
_MOST_CHARS = 300
CPU_SECONDS = 10.0
"""Processor time to check one answer."""
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from prunecli.runtime import answer_schema as a; "


class AnswerSchema:
    """A valid schema. Raises UsageError for an invalid one. `limit` is in seconds of processor time."""

    def __init__(self, schema: Json, limit: float = CPU_SECONDS) -> None:
        self.schema = schema
        self._limit = limit
        self._validator = _validator(schema)

    @staticmethod
    def of(given: str) -> "AnswerSchema":
        """Parse the value of the flag: JSON, or the name of a JSON file. Raises UsageError."""
        inline = given.lstrip().startswith(("{", "["))
        where = FLAG if inline else f"{FLAG}: {given}"
        try:
            schema = strict_loads(given if inline else file_text(FLAG, Path(given)))
        except ValueError as error:
            raise UsageError(
                f"{where}: not JSON ({error})", "pass a file name or a quoted JSON schema"
            ) from None
        try:
            return AnswerSchema(schema)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.hint) from None

    @property
    def notice(self) -> UserMessage:
        return notice(
            "answer format",
            "A program reads the answer to this prompt. Work as usual; your last message must be one JSON value, "
            f"valid under this JSON schema, with no text around it:\n{json.dumps(self.schema)}",
            kept=True,
        )

    def again(self, problems: Sequence[str]) -> str:
        listed = "\n".join(f"- {problem}" for problem in problems)
        return (
            f"Your answer is not valid under the JSON schema:\n{listed}\nAnswer again with only the JSON value that "
            "is valid."
        )

    async def value(self, answer: str) -> tuple[Json, list[str]]:
        """Return the JSON of an answer and its problems; [] if it is valid.

        Raises PrunecliError if evaluating the schema fails or takes too long.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", f"{_START}a.main()", json.dumps(sys.path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            given = json.dumps([self.schema, self._limit, answer])
            out, _ = await process.communicate(given.encode("ascii"))
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == -signal.SIGPROF:
            raise PrunecliError(
                f"{FLAG}: checking the answer took more than {self._limit:g} seconds",
                "simplify the patterns in the schema",
            )
        if process.returncode:
            raise PrunecliError(f"{FLAG}: the answer could not be checked", "simplify the schema")
        checked = json.loads(out)
        if "error" in checked:
            raise PrunecliError(*checked["error"])
        return checked["value"], checked["problems"]

    def checked(self, answer: str) -> tuple[Json, list[str]]:
        """Return what `value` returns, without a time limit.

        If the text has one code fence, its content is the answer. Raises PrunecliError.
        """
        fences = _FENCED.findall(answer)
        text = fences[0] if len(fences) == 1 else answer
        try:
            found = strict_loads(text)
        except (ValueError, RecursionError) as error:
            return None, [f"it is not JSON: {str(error)[:_MOST_CHARS]}"]
        try:
            errors = sorted(self._validator.iter_errors(found), key=lambda one: str(one.json_path))
        except RecursionError:
            raise PrunecliError(f"{FLAG}: the schema contains a circular reference", "remove it") from None
        except LookupError as error:  # an unresolvable reference
            raise PrunecliError(f"{FLAG}: {error}", "put it into $defs; nothing is fetched") from None
        return found, [_problem(one) for one in errors[:_MOST_PROBLEMS]]


def main() -> None:
    """Check the answer on standard input. The signal of the timer ends this process, even during a match."""
    schema, limit, answer = json.load(sys.stdin)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        found, problems = AnswerSchema(schema).checked(answer)
        print(json.dumps({"value": found, "problems": problems}))  # noqa: T201
    except PrunecliError as error:
        print(json.dumps({"error": [error.message, error.hint]}))  # noqa: T201


def _problem(error: Any) -> str:
    message = str(error.message)
    cut = (
        message
        if len(message) <= _MOST_CHARS
        else f"{message[: _MOST_CHARS // 2]} … {message[-_MOST_CHARS // 2 :]}"
    )
    return f"{error.json_path}: {cut}"


def _validator(schema: Json) -> Any:
    """Return the validator of a schema. Raises UsageError for an invalid one."""
    if not isinstance(schema, dict):
        raise UsageError("the schema is not a JSON object", 'use an object such as {"type": "object"}')
    try:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import validator_for
        from jsonschema_specifications import REGISTRY
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import DRAFT202012, specification_with
    except ImportError:
        raise UsageError("needs the jsonschema library", _INSTALL) from None
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        for part in _parts(schema):
            for pattern in (part.get("pattern"), *(part.get("patternProperties") or ())):
                re.compile(pattern) if isinstance(pattern, str) else None
    except SchemaError as error:
        raise UsageError(f"not a valid schema: {_problem(error)}", "correct it") from None
    except (TypeError, RecursionError) as error:
        raise UsageError(f"not a valid schema: {error}", "correct it") from None
    except re.error as error:
        raise UsageError(f"not a valid schema: {error.pattern!r}: {error}", "correct the pattern") from None
    dialect = specification_with(str(schema.get("$schema", "")), default=DRAFT202012)
    resolver = REGISTRY.resolver_with_root(dialect.create_resource(schema))
    parts = list(_parts(schema))
    references = [part["$ref"] for part in parts if isinstance(part.get("$ref"), str)]
    if not any("$id" in part for part in parts[1:]):  # a nested $id changes what references mean
        for reference in references:
            try:
                resolver.lookup(reference)
            except Unresolvable:
                raise UsageError(
                    f"the schema refers to {reference}, which is not in it",
                    "put it into $defs; nothing is fetched",
                ) from None
    return kind(schema, registry=REGISTRY)


def _parts(value: Json, *, named: bool = False) -> Iterator[dict[str, Json]]:
    """Yield a schema and then its subschemas, without objects that are data. `named`: the keys are names."""
    if isinstance(value, dict):
        if not named:
            yield value
        for key, one in value.items():
            if named or key not in _DATA:
                yield from _parts(one, named=not named and key in _NAMED)
    elif isinstance(value, list):
        for one in value:
            yield from _parts(one)
