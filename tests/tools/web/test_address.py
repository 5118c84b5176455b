"""Addresses of pages: what is accepted, how it is written, and what is refused before any lookup."""

import pytest

from prunecli.tools.web.address import parsed, problem, refusal
from prunecli.util.errors import ToolError


@pytest.mark.parametrize(
    ("text", "url", "site"),
    [
        ("https://docs.python.org/3/", "https://docs.python.org/3/", "docs.python.org"),
        (" http://Docs.Python.org./3?q=a b"[:26], "https://docs.python.org/3", "docs.python.org"),
        ("http://example.com:80/x#part", "https://example.com/x", "example.com"),
        ("http://example.com:8080", "http://example.com:8080/", "example.com:8080"),
        ("https://example.com:443/a%20b?c=d&e=ü", "https://example.com/a%20b?c=d&e=%C3%BC", "example.com"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://93.184.216.34/", "https://93.184.216.34/", "93.184.216.34"),
        ("https://[2606:4700:0::1111]/", "https://[2606:4700::1111]/", "[2606:4700::1111]"),
        ("https://example.com?q=1", "https://example.com/?q=1", "example.com"),
    ],
)
def test_an_address_has_one_ascii_form(text: str, url: str, site: str) -> None:
    found = parsed(text)
    assert (found.url, found.site) == (url, site)


def test_look_alike_letters_are_shown_as_punycode() -> None:
    assert parsed("https://pyp\u0456.org/").site.startswith("xn--")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://example.com/", "Only http and https"),
        ("file:///etc/passwd", "Only http and https"),
        ("javascript:alert(1)", "Only http and https"),
        ("example.com", "must start with https://"),
        ("", "must start with https://"),
        ("https:///x", "no host"),
        ("https://user:secret@example.com/", "user name or password"),
        ("https://example.com@evil.example/", "user name or password"),
        ("https://@example.com/", "user name or password"),
        ("https://example.com:99999/", "not a valid URL"),
        ("https://example.com:0/", "port 0"),
        ("https://exam ple.com/", "space"),
        ("https://example.com\\@evil.example/", "backslash"),
        ("https://example.com/\u202e", "invisible"),
        ("https://example.com/\nx", "invisible"),
        ("https://2130706433/", "plainly written"),
        ("https://0x7f000001/", "plainly written"),
        ("https://0177.0.0.1/", "plainly written"),
        ("https://127.1/", "plainly written"),
        ("https://127.0.0.0x1/", "plainly written"),
        ("https://[fe80::1%25eth0]/", "plainly written"),
        ("https://[::1/", "not a valid URL"),
        ("https://-a.example/", "not a host name"),
        ("https://a..example/", "not a host name"),
        ("https://ｌocalhost/", "not a host name"),
        ("https://" + "a" * 9_000, "the limit is 8,000"),
    ],
)
def test_other_addresses_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        parsed(text)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "localhost:8000",
            "a.localhost",
            "intranet",
            "printer.local",
            "metadata.google.internal",
        ),
        *("127.0.0.1", "10.0.0.1:8080", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "[::1]"),
        *("[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fd00::1]", "[fe80::1]", "router.lan", "x.home.arpa"),
    ],
)
def test_hosts_of_this_machine_and_its_network_are_refused_unless_listed(host: str) -> None:
    address = parsed(f"https://{host}/")
    assert "not on the public internet" in refusal(address, ())
    assert f'private = ["{address.site}"]' in refusal(address, ())
    assert refusal(address, (address.site,)) == ""
    assert refusal(address, ("localhost:1", "example.com"))


def test_a_listed_host_without_a_port_stands_for_every_port_and_keeps_http() -> None:
    assert refusal(parsed("https://localhost:3000/"), ("localhost",)) == ""
    assert parsed("http://localhost/", ("localhost",)).scheme == "http"
    assert parsed("http://localhost/", ("localhost:80",)).scheme == "http"
    assert parsed("http://localhost/", ("localhost:8000",)).scheme == "https"


@pytest.mark.parametrize(
    "entry", ["localhost", "localhost:8000", "10.0.0.1:80", "[::1]:8000", "dev.internal"]
)
def test_an_entry_is_a_host_with_or_without_a_port(entry: str) -> None:
    assert problem(entry) == ""


@pytest.mark.parametrize(
    "entry", ["", "*", "http://localhost", "localhost/", "a b", "10.0.0.0/8", "2130706433", "a:x"]
)
def test_other_entries_are_refused(entry: str) -> None:
    assert "expected a host" in problem(entry)
