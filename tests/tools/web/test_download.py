"""Downloads: pinned addresses, redirects, limits, and failures in words."""

import asyncio
import gzip
from collections.abc import Sequence

import pytest

from prunecli.tools.web.access import Web
from prunecli.tools.web.address import parsed
from prunecli.tools.web.download import Download, download
from prunecli.util.errors import ToolError, UsageError
from tests.tools.web.site import answer, redirect, serving

PAGE = "https://public.example/"


async def got(url: str, web: Web) -> Download:
    return await download(parsed(url, web.private), web)


async def test_a_connection_goes_to_the_address_that_was_checked_and_tls_verifies_the_name() -> None:
    async with serving({"/a?b=c": answer("hello")}) as site:
        web = site.web({"public.example": ["10.0.0.1", "93.184.216.34"]})
        found = await got("http://public.example/a?b=c", web)
    assert found.body == b"hello"
    assert site.connected == ["https://93.184.216.34/"]
    assert site.sni == ["public.example"]
    assert "\r\nHost: public.example\r\n" in site.heads[0].replace("host:", "Host:")
    assert "cookie" not in site.heads[0].lower()


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["169.254.169.254", "::1"], ["::ffff:10.0.0.1"], []])
async def test_a_name_without_a_public_address_is_refused_before_any_connection(
    addresses: Sequence[str],
) -> None:
    async with serving({"/": answer("secret")}) as site:
        with pytest.raises(ToolError, match=r"public.example is not on the public internet"):
            await got(PAGE, site.web({"public.example": addresses}))
    assert site.heads == []


async def test_a_listed_host_may_be_private() -> None:
    async with serving({"/": answer("mine")}) as site:
        here = f"localhost:{site.port}"
        assert (await got(f"http://{here}/", Web(private=(here,)))).body == b"mine"
        with pytest.raises(ToolError, match="not on the public internet"):
            await got(f"http://{here}/", Web())


async def test_redirects_on_one_host_are_followed_and_each_is_checked() -> None:
    answers = {"/": redirect("/a"), "/a": redirect("http://public.example/b", "308 Permanent Redirect")}
    async with serving({**answers, "/b": answer("there")}) as site:
        steady = Web(transport=site.web().transport, resolve=_always("93.184.216.34"))
        found = await got(PAGE, steady)
        assert (found.body, found.address.url) == (b"there", "https://public.example/b")
        with pytest.raises(ToolError, match="not on the public internet"):
            await got(PAGE, site.web())  # the name moves to 127.0.0.1 after the first lookup


@pytest.mark.parametrize(
    "to", ["https://other.example/x", "//other.example/x", "https://public.example:8443/"]
)
async def test_a_redirect_to_another_host_is_not_followed(to: str) -> None:
    async with serving({"/": redirect(to)}) as site:
        found = await got(PAGE, site.web())
    assert found.elsewhere is not None
    assert found.elsewhere.url in (to, f"https:{to}")
    assert len(site.heads) == 1


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("http://127.0.0.1/", "not on the public internet"),
        ("http://169.254.169.254/latest/meta-data", "not on the public internet"),
        ("http://localhost:8000/", "not on the public internet"),
        ("file:///etc/passwd", "Only http and https"),
        ("https://a:b@public.example/", "user name or password"),
        ("http://[::1", "not a valid URL|no host|must start"),
        ("http://0x7f.1/", "plainly written"),
    ],
)
async def test_a_redirect_to_what_may_not_be_fetched_is_refused(to: str, why: str) -> None:
    async with serving({"/": redirect(to)}) as site:
        with pytest.raises(ToolError, match=why):
            await got(PAGE, site.web())
    assert len(site.heads) == 1


async def test_redirects_end_after_five() -> None:
    async with serving({"/": redirect("/")}) as site:
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await got(PAGE, Web(transport=site.web().transport, resolve=_always("93.184.216.34")))
    assert len(site.heads) == 6


@pytest.mark.parametrize(
    ("status", "said"), [("404 \x1b[31mevil", "404 Not Found"), ("503 x", "503 Service")]
)
async def test_an_error_status_is_an_error_in_our_words(status: str, said: str) -> None:
    async with serving({"/": answer("no", status=status)}) as site:
        with pytest.raises(ToolError, match=f"HTTP status {said}"):
            await got(PAGE, site.web())


async def test_a_body_over_the_limit_is_cut_also_when_it_is_packed() -> None:
    packed = gzip.compress(b"a" * 50_000_000)
    answers = {
        "/": answer("x" * 5_000),
        "/bomb": answer(packed, "text/plain", "200 OK", "Content-Encoding: gzip"),
    }
    async with serving(answers) as site:
        found = await got(PAGE, site.web(most=1_000))
        assert (len(found.body), found.cut) == (1_000, True)
        found = await got(f"{PAGE}bomb", site.web(most=100_000))
        assert (len(found.body), found.cut) == (100_000, True)
        assert not (await got(PAGE, site.web(most=5_000))).cut


async def test_slow_endless_and_broken_answers_are_errors() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for _ in range(50):
            writer.write(b"x")
            await writer.drain()
        await asyncio.Event().wait()

    async def headers(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-More: " + b"y" * 1_000 + b"\r\n")
            await writer.drain()

    answers = {
        "/drip": drip,
        "/head": headers,
        "/none": b"",
        "/junk": b"\x1b[31mnonsense\r\n\r\n",
        "/gzip": answer(b"not gzip", "text/plain", "200 OK", "Content-Encoding: gzip"),
        "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    }
    async with serving(answers) as site:
        with pytest.raises(ToolError, match=r"was not complete after 0\.3 s"):
            await got(f"{PAGE}drip", site.web(seconds=0.3))
        for path in ("head", "none", "junk", "gzip", "short"):
            with pytest.raises(ToolError, match=f"/{path} could not be fetched") as error:
                await got(PAGE + path, site.web())
            assert str(error.value).isprintable()
            assert len(str(error.value)) < 300


async def test_an_unknown_name_and_a_closed_port_are_errors() -> None:
    async with serving({}) as site:
        web, port = site.web({"gone.example": []}), site.port
        with pytest.raises(ToolError, match=r"The name public\.example was not found"):
            await got(PAGE, web)
    with pytest.raises(ToolError, match="could not be fetched"):
        await got(f"http://127.0.0.1:{port}/", Web(private=("127.0.0.1",)))


async def test_a_proxy_gets_the_name_and_private_names_stay_refused() -> None:
    asked = list[tuple[str, str]]()
    async with serving({"/": answer("by proxy")}) as site:
        web = site.web({"public.example": ["93.184.216.34"], "inside.example": ["10.0.0.1"]})

        def transport(proxy: str, ca_file: str) -> object:
            asked.append((proxy, ca_file))
            return web.transport(proxy, ca_file)

        through = Web(
            resolve=web.resolve, transport=transport, route=lambda _: ("http://proxy:3128", "/ca.pem")
        )  # type: ignore[arg-type]
        assert (await got(PAGE, through)).body == b"by proxy"
        assert (await got("https://only-the-proxy-knows.example/", through)).body == b"by proxy"
        for refused in ("https://inside.example/", "https://localhost/", "https://10.0.0.1/"):
            with pytest.raises(ToolError, match="not on the public internet"):
                await got(refused, through)
    assert site.connected == ["https://public.example/", "https://only-the-proxy-knows.example/"]
    assert asked == [("http://proxy:3128", "/ca.pem")] * 2


async def test_a_wrong_proxy_variable_is_named() -> None:
    def route(_: str) -> tuple[str, str]:
        raise UsageError("https_proxy: not a proxy URL", "unset it")

    with pytest.raises(ToolError, match="https_proxy: not a proxy URL: unset it"):
        await got(PAGE, Web(route=route))


def _always(*addresses: str):  # type: ignore[no-untyped-def]
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve
