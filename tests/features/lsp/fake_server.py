"""A language server on standard streams: each word `bug…` in a file is an error there, or in all open files that
contain the text after `breaks:`. The first argument is how it behaves."""

import json
import re
import sys

HOW = sys.argv[1] if len(sys.argv) > 1 else "good"
DOCUMENTS: dict[str, tuple[int, str]] = {}


def receive() -> dict:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def send(**message: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode())


def write(body: bytes) -> None:
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def problems(text: str) -> list[dict]:
    broken = "".join(re.findall(r"breaks: *(\w+)", "".join(text for _, text in DOCUMENTS.values())))
    found = []
    for number, line in enumerate(text.splitlines()):
        for word in re.findall(r"bug\w*", line) + ([broken] if broken and f"use {broken}" in line else []):
            at = 2_000_000_000 if HOW == "lies" else number
            spot = {"line": at, "character": 0}
            severity = 2 if word.startswith("bugwarn") else 1
            told = {
                "range": {"start": spot, "end": spot},
                "severity": severity,
                "message": f"{word} is a bug\n\x1b[2J",
            }
            found.append({**told, "code": "E1"})
    return found


def publish(uri: str) -> None:
    version, text = DOCUMENTS[uri]
    told = {"uri": uri, "version": version, "diagnostics": problems(text)}
    send(method="textDocument/publishDiagnostics", params=told)


def misbehave() -> None:
    if HOW == "crash":
        sys.exit("out of memory")
    if HOW == "exit":
        send(method="exit")
    if HOW == "huge":
        sys.stdout.buffer.write(b"Content-Length: 900000000\r\n\r\n{")
        sys.stdout.buffer.flush()
    if HOW == "noise":
        for _ in range(3):
            write(b"[" * 5_000 + b"{")
            write(b'{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": {"uri": 7}}')
            write(b'{"jsonrpc": "2.0", "id": "none", "result": 3}')
            send(id=99, method="workspace/applyEdit", params={"edit": {}})
    if HOW == "flood":
        while True:
            send(method="window/logMessage", params={"type": 3, "message": "x" * 1_000_000})


def changed(uri: str, version: int, text: str) -> None:
    DOCUMENTS[uri] = version, text
    if version > 1:
        misbehave()
    if HOW == "hang":
        return
    if HOW != "pull":
        for one in DOCUMENTS:
            publish(one)


while True:
    asked = receive()
    method, params = asked.get("method"), asked.get("params") or {}
    match method:
        case "initialize":
            able = {"diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False}}
            send(id=asked["id"], result={"capabilities": able if HOW == "pull" else {"textDocumentSync": 1}})
        case "textDocument/didOpen":
            opened = params["textDocument"]
            changed(opened["uri"], opened["version"], opened["text"])
        case "textDocument/didChange":
            named = params["textDocument"]
            changed(named["uri"], named["version"], params["contentChanges"][0]["text"])
        case "textDocument/didClose":
            del DOCUMENTS[params["textDocument"]["uri"]]
        case "textDocument/diagnostic":
            _, text = DOCUMENTS[params["textDocument"]["uri"]]
            send(id=asked["id"], result={"kind": "full", "items": problems(text)})
        case "shutdown":
            send(id=asked["id"], result=None)
        case "exit":
            sys.exit(0)
