"""The messages of OpenCode 2, in the form of its export: `info`, and `parts` with the content.

A row of `session_message` has a type (user, assistant, synthetic, shell, compaction and others) and the rest as JSON.
"""

from collections.abc import Mapping

from prunecli.model.messages import Json
from prunecli.session.importers.transcript import part, words

SHELL = "shell"
"""The role of a command that the user ran, which older versions record as a tool call."""


def exported(own: str, kind: str, data: Mapping[str, Json]) -> Json:
    info: dict[str, Json] = {"id": own, "time": data.get("time")}
    match kind:
        case "user":
            text = {"type": "text", "text": words(data.get("text"))}
            return {"info": {**info, "role": "user"}, "parts": [text, *map(_file, _list(data.get("files")))]}
        case "synthetic":
            note: dict[str, Json] = {"type": "text", "text": words(data.get("text")), "synthetic": True}
            return {"info": {**info, "role": "user"}, "parts": [note]}
        case "compaction":
            said = "\n\n".join(filter(None, (words(data.get("summary")), words(data.get("include")))))
            summary = {"type": "text", "text": said}
            return {"info": {**info, "role": "assistant", "summary": True}, "parts": [summary]}
        case "assistant":
            model = words(part(data.get("model")).get("id"))
            told = {key: data.get(key) for key in ("tokens", "finish")}
            parts = [_content(part(one)) for one in _list(data.get("content"))]
            return {"info": {**info, "role": "assistant", "modelID": model, **told}, "parts": parts}
        case "shell":
            text = {"command": words(data.get("command")), "output": words(data.get("output"))}
            return {"info": {**info, "role": SHELL}, "parts": [text]}
        case _:
            return {"info": {**info, "role": kind}, "parts": []}


def _content(one: Mapping[str, Json]) -> Json:
    """Return a piece of an answer: text, reasoning, or a call with its state."""
    if one.get("type") != "tool":
        return dict(one)
    state, times = part(one.get("state")), part(one.get("time"))
    pieces = [part(piece) for piece in _list(state.get("content"))]
    texts = [words(piece.get("text")) for piece in pieces if piece.get("type") == "text"]
    files = [_file(piece) for piece in (*pieces, *_list(state.get("attachments"))) if _is_file(piece)]
    given, error = state.get("input"), state.get("error")
    return {
        "type": "tool",
        "callID": one.get("id") or one.get("callID"),
        "tool": one.get("name"),
        "state": {
            "status": state.get("status"),
            "input": given if isinstance(given, dict) else {},
            "output": words(state.get("output")) or "\n".join(texts),
            "error": words(error) or words(part(error).get("message")) or "\n".join(texts),
            "metadata": part(state.get("structured")) or part(state.get("metadata")),
            "attachments": files,
            "time": {"end": times.get("completed"), "compacted": times.get("pruned")},
        },
    }


def _is_file(given: Json) -> bool:
    return part(given).get("type") != "text" and bool(part(given).get("mime"))


def _file(given: Json) -> Json:
    file = part(given)
    return {"type": "file", "mime": file.get("mime"), "url": file.get("url") or file.get("uri")}


def _list(given: Json) -> list[Json]:
    return given if isinstance(given, list) else []
