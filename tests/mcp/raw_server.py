"""A server that does something wrong, written without the SDK: `python raw_server.py FAULT`.

The faults are the functions below; `die=N` ends it before the answer to message N. `plain` and `tools=N` are no
faults: a tool that repeats a text, and N tools. They start in a twentieth of the time of a server with the SDK.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

TOOL = {"name": "echo", "description": "Repeat.", "inputSchema": {"type": "object", "properties": {}}}


def messages() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def answer(message: dict[str, Any], result: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()


def refuse(message: dict[str, Any]) -> None:
    error = {"code": -32601, "message": "Method not found"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)


def serve(tools: list[Any], call: Any, *, before: Any = lambda number: None) -> None:
    for number, message in enumerate(messages()):
        before(number)
        match message.get("method"):
            case "initialize":
                facts = {"name": "raw", "version": "1"}
                able = {"tools": {"listChanged": True}}
                version = message["params"]["protocolVersion"]
                answer(message, {"protocolVersion": version, "capabilities": able, "serverInfo": facts})
            case "tools/list":
                answer(message, {"tools": tools})
            case "tools/call":
                call(message)
            case method if "id" in message and method:
                refuse(message)


def well(message: dict[str, Any]) -> None:
    answer(message, {"content": [{"type": "text", "text": "well"}]})


def plain() -> None:
    """Repeats a text, as it should."""
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    def call(message: dict[str, Any]) -> None:
        answer(message, {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})

    serve([{**TOOL, "inputSchema": text}], call)


def invalid() -> None:
    """Tools that do not follow the protocol, among others."""
    schemas = {"bad": "none", "fine": {"type": "object"}, "array": {"type": "array"}}
    schemas["union"] = {"anyOf": [{"type": "object"}, True]}
    tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
    out = {**TOOL, "name": "out", "outputSchema": {"type": ["object", "null"]}}
    serve([*tools, {"name": "none"}, out, 3, {**TOOL, "description": 4}, TOOL], well)


def hang() -> None:
    for _ in messages():
        pass


def silent_once() -> None:
    """Never answers the first call."""
    calls = []

    def call(message: dict[str, Any]) -> None:
        if calls:
            well(message)
        calls.append(message)

    serve([TOOL], call)


def flood() -> None:
    """100 MB in one line."""

    def call(message: dict[str, Any]) -> None:
        answer(message, {"content": [{"type": "text", "text": "x" * 100_000_000}]})

    serve([TOOL], call)


def closes() -> None:
    """Closes its standard output at a call, and lives on until its input ends."""
    serve([TOOL], lambda _: os.close(1))


def halves() -> None:
    """An answer that cuts a character in two, as JavaScript does, after a notification without sense; then one that
    nobody can read."""
    begun = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":'
    rests = [rb'"cut \ud83d"}]}}', b"[" * 9_000 + b"]" * 9_000 + b"}]}}"]

    def call(message: dict[str, Any]) -> None:
        answer_line = begun % message["id"] + rests.pop(0)
        progress = {"progressToken": message["id"], "progress": "much"}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
        sys.stdout.buffer.write(json.dumps(note).encode() + b"\n" + answer_line + b"\n")
        sys.stdout.flush()

    serve([TOOL], call)


def drip() -> None:
    """One byte a second, of an answer that never ends."""

    def call(message: dict[str, Any]) -> None:
        for char in (
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}) + " " * 600
        ):
            sys.stdout.write(char)
            sys.stdout.flush()
            time.sleep(1)

    serve([TOOL], call)


def noise() -> None:
    """Lines that are no messages, between all others."""

    def before(number: int) -> None:
        print(f"Listening on port {number} \x1b[31m…\n[1, 2]\n{{not json", flush=True)

    serve([TOOL], well, before=before)


def only_noise() -> None:
    while True:
        print("y" * 1000)


def schema() -> None:
    """A schema of a megabyte."""
    properties = {f"p{number}": {"type": "string", "description": "d" * 900} for number in range(1_100)}
    serve([TOOL, {"name": "huge", "inputSchema": {"type": "object", "properties": properties}}], well)


def names() -> None:
    """Names and texts with control characters."""
    bad = [{**TOOL, "name": name} for name in ("a\x1b[2Jb", "a b", "", "n" * 300, "\u202egnp", "a\nb")]
    good = {**TOOL, "name": "fine", "description": "fine \x1b]0;title\x07 \u0085text\nsecond line"}

    def call(message: dict[str, Any]) -> None:
        answer(message, {"content": [{"type": "text", "text": "a\x1b[31mred\x07\x00 \u009b2J\tb\r\nc"}]})

    serve([*bad, good, TOOL, {**good, "description": "another"}], call)


def asks() -> None:
    """Asks the user before it answers."""

    def call(message: dict[str, Any]) -> None:
        color = {"type": "string", "enum": ["red", "green"], "description": "any color"}
        form = {
            "type": "object",
            "properties": {"color": color, "count": {"type": "integer"}},
            "required": ["color"],
        }
        params = {"message": "Which color?", "requestedSchema": form}
        said = json.dumps(_ask(params), sort_keys=True)
        answer(message, {"content": [{"type": "text", "text": said}]})

    serve([TOOL], call)


def _ask(params: dict[str, Any]) -> Any:
    """The client's answer to a question."""
    print(
        json.dumps({"jsonrpc": "2.0", "id": 900, "method": "elicitation/create", "params": params}),
        flush=True,
    )
    reply = next(messages())
    return reply.get("result") or reply["error"]["message"]


def chooses() -> None:
    """Asks on a form whose fields are all choices."""

    def call(message: dict[str, Any]) -> None:
        fields = {"color": {"type": "string", "enum": ["red", "green"]}, "sure": {"type": "boolean"}}
        form = {"type": "object", "properties": fields, "required": ["color"]}
        said = json.dumps(_ask({"message": "Which color?", "requestedSchema": form}), sort_keys=True)
        answer(message, {"content": [{"type": "text", "text": said}]})

    serve([TOOL], call)


def opens() -> None:
    """Asks the user to open the page that the call names."""

    def call(message: dict[str, Any]) -> None:
        given = message["params"]["arguments"]
        said = _ask({"mode": "url", "message": "Pay", "url": given["url"], "elicitationId": "1"})
        answer(message, {"content": [{"type": "text", "text": json.dumps(said)}]})

    serve([TOOL], call)


def refuses_until_opened() -> None:
    """Refuses each first call with the page that has to be opened before."""
    opened: list[str] = []

    def call(message: dict[str, Any]) -> None:
        if opened:
            well(message)
            return
        opened.append("page")
        one = {"mode": "url", "message": "Log in", "url": "https://bank.example/in", "elicitationId": "1"}
        error = {"code": -32042, "message": "open it", "data": {"elicitations": [one]}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)

    serve([TOOL], call)


def refuses_oddly() -> None:
    """Refuses calls because of pages, and names none."""

    def call(message: dict[str, Any]) -> None:
        error = {"code": -32042, "message": "open it", "data": ["x"]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)

    serve([TOOL], call)


def grows() -> None:
    """Adds a tool with each call, and says so."""
    tools = [TOOL]

    def call(message: dict[str, Any]) -> None:
        tools.append({**TOOL, "name": f"grown_{len(tools)}"})
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
        well(message)

    serve(tools, call)


def stubborn() -> None:
    """Ignores the end of its input and SIGTERM."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve([TOOL], well)
    while True:
        time.sleep(1)


def parent() -> None:
    """Ends at the end of its input, but leaves a stubborn process behind, in a session of its own."""
    child = subprocess.Popen(
        [sys.executable, __file__, "stubborn"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    serve([TOOL], well)
    del child


def wrong() -> None:
    """Results that are no results."""

    def call(message: dict[str, Any]) -> None:
        answer(message, {"content": "no list", "isError": "perhaps"})

    serve([TOOL], call)


def pages() -> None:
    """A list whose pages never end."""
    for message in messages():
        match message.get("method"):
            case "tools/list":
                at = int((message.get("params") or {}).get("cursor") or 0)
                answer(message, {"tools": [{**TOOL, "name": f"t{at}"}], "nextCursor": str(at + 1)})
            case "initialize":
                facts = {"name": "raw", "version": "1"}
                version = message["params"]["protocolVersion"]
                answer(
                    message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": facts}
                )
            case method if "id" in message and method:
                refuse(message)


def main() -> None:
    fault = sys.argv[1]
    if fault.startswith("die="):
        last = int(fault.removeprefix("die="))

        def before(number: int) -> None:
            if number == last:
                print("dying", file=sys.stderr)
                sys.exit(3)

        serve([TOOL], well, before=before)
    elif fault.startswith("tools="):
        words = "Repeat the given words as often as asked, in the order given, and say how long the whole text is."
        count = int(fault.removeprefix("tools="))
        serve([{**TOOL, "name": f"echo_{number}", "description": words} for number in range(count)], well)
    else:
        globals()[fault]()


if __name__ == "__main__":
    main()
