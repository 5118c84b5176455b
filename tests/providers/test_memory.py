"""What a hostile or broken endpoint can make the program hold in memory: measured in a process of its own."""

import asyncio
import sys
import zlib
from pathlib import Path

import pytest

from tests import endpoint as fake

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES = 50
CLIENT = """
import asyncio, sys
from pathlib import Path
from prunecli.util.errors import ProviderError
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from tests.providers.requests import request

def megabytes(what):
    return int(Path("/proc/self/status").read_text().split(what)[1].split()[0]) / 1024

async def ask():
    provider = AnthropicProvider(Endpoint("sk-ant-x", None, sys.argv[1]))
    for _ in range(2):
        before = megabytes("VmRSS:")
        Path("/proc/self/clear_refs").write_text("5")
        try:
            async for _ in provider.stream(request()):
                pass
        except ProviderError:
            pass
    print(megabytes("VmHWM:") - before)
    await provider.close()

asyncio.run(ask())
"""


def bomb() -> bytes:
    """200 MB, in 200 KB of gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b"x" * 10_000_000) for _ in range(20)) + packer.flush()


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak can be reset on Linux only")
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("packed", [False, True])
async def test_a_flood_takes_less_than_fifty_megabytes(status: int, packed: bool) -> None:
    """A gigabyte as it is, or 200 MB packed; as an answer and as an error."""
    kind = {"content-type": "text/event-stream" if status == 200 else "text/html"}
    flood = fake.RawResponse(b"x" * 65_536, status, kind, repeat=16_384)
    if packed:
        flood = fake.RawResponse(bomb(), status, {**kind, "content-encoding": "gzip"})
    async with fake.Endpoint(["Everything is loaded now.", flood]) as endpoint:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENT, endpoint.base_url, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        told, _ = await process.communicate()
        assert len(endpoint.requests) == 2
    assert float(told) <= MOST_MEGABYTES
