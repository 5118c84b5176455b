"""A server made with the SDK, as programs have them: `python sdk_server.py [tools=N] [port=N] [asks=1]`."""

import struct
import sys
import zlib

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import BaseModel


def png() -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(b"\0\0\0\0")) + part(b"IEND", b"")


def order(ctx: Context) -> str | InputRequiredResult:
    """Ask on a form and on a page before the answer."""
    given = ctx.input_responses
    if not given:
        form = {"type": "object", "properties": {"size": {"type": "string", "enum": ["s", "m"]}}}
        asked = ElicitRequestFormParams(message="Which size?", requested_schema=form)
        page = ElicitRequestURLParams(message="Pay", url="https://shop.example/pay", elicitation_id="1")
        requests = {"size": ElicitRequest(params=asked), "pay": ElicitRequest(params=page)}
        return InputRequiredResult(input_requests=requests, request_state="shop")
    return f"{ctx.request_state}: {[(key, one.action, one.content) for key, one in sorted(given.items())]}"


class Size(BaseModel):
    """What the question of `measure` wants."""

    size: str


async def measure(ctx: Context) -> str:
    """Ask as servers do whose protocol is that of last year."""
    return repr((await ctx.elicit("Which size?", Size)).action)


def make(tools: int, *, asks: bool = False) -> MCPServer:
    server = MCPServer("fake", instructions="A server for tests.")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def echo(text: str) -> str:
        """Repeat a text."""
        return text

    @server.tool()
    def weather(city: str) -> dict[str, int]:
        """Tell the temperature."""
        return {"degrees": len(city)}

    @server.tool()
    def picture() -> Image:
        """Draw a picture."""
        return Image(data=png(), format="png")

    @server.tool()
    def fail() -> str:
        """Always fail."""
        raise ValueError("it went wrong")

    @server.tool()
    def big(size: int) -> str:
        """Return a long text."""
        return "x" * size

    @server.tool()
    async def wait(ctx: Context, seconds: float, steps: int = 1) -> str:
        """Take a while and say how far it is."""
        for step in range(steps):
            await ctx.report_progress(step, steps, f"step {step}")
            await anyio.sleep(seconds / steps)
        return "waited"

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Add a tool."""
        server.add_tool(lambda: "new", name="grown", description="A new tool.")
        await ctx.notify_tools_changed()
        return "grown"

    @server.resource("fake://notes", description="Some notes")
    def notes() -> str:
        return "the notes\x07 are here"

    @server.resource("fake://dot.png", mime_type="image/png")
    def dot() -> bytes:
        return png()

    @server.prompt()
    def review(file: str, style: str = "short") -> str:
        """Review a file."""
        return f"Review {file} in a {style} style."

    if asks:
        server.add_tool(order)
        server.add_tool(measure)
    for number in range(tools):
        server.add_tool(
            lambda a="", b=0: f"{a}{b}",
            name=f"extra_{number}",
            description=f"Do the extra thing number {number}.",
        )
    return server


def main() -> None:
    options = dict(word.split("=") for word in sys.argv[1:])
    server = make(int(options.get("tools", 0)), asks="asks" in options)
    if "port" in options:
        server.run("streamable-http", port=int(options["port"]))
    else:
        print("starting", file=sys.stderr, flush=True)
        server.run()


if __name__ == "__main__":
    main()
