"""The way out when one of the user's messages is too large, since nothing may prune it."""

from prunecli.context.state import Context


def way_around(context: Context) -> str:
    """Explain how to continue when one user message makes every request too long.

    Names the message, its size and the fix; "" if no message is half of the request.
    """
    said = [entry for entry in context.items if entry.kind in ("user", "command") and entry.is_sent]
    sizes = {entry.seq: sum(map(len, entry.wire)) for entry in said}
    largest = max(sizes, key=lambda seq: sizes[seq], default=-1)
    whole = sum(len(message.canonical) for message in context.messages())
    if not said or sizes[largest] * 2 < whole:
        return ""
    size = sizes[largest]
    shown = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
    who = context.started.id if context.started else "ID"
    return (
        f"your message {largest} is too large ({shown}): /rewind to before it, "
        f"or copy the session up to it: prunecli -r {who}@{largest - 1} --fork"
    )
