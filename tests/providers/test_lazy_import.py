"""The import hook: no name is missing or another one, what can't be told is run, and both ways talk alike."""

import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prunecli.providers import lazy_import
from tests import endpoint as fake

MODULE_CEILING = 560
"""Modules in the process when a request can be posted: 450 with SDK 2.11 on Python 3.11, 3,300 without the hook."""

ROOT = Path(__file__).parents[2]

TALK = """
import asyncio, json, sys
from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.provider import Response
from tests.providers.requests import request

async def talk():
    provider = AnthropicProvider(Endpoint("key", base_url=sys.argv[1]))
    provider.warm()
    modules = sorted(sys.modules)
    events = [event async for event in provider.stream(request())]
    kind = ""
    try:
        async for _ in provider.stream(request()): pass
    except Exception as error:
        kind = type(error).__name__
    await provider.close()
    print(json.dumps({"text": events[-1].content[0].text, "error": kind, "modules": modules}))

asyncio.run(talk())
"""

PUBLIC_NAMES = """
import json, sys
from prunecli.providers import lazy_import
from prunecli.providers.messages_api import _FUNCTION_MODULES
if sys.argv[1] == "lazy":
    lazy_import.install(["anthropic"], _FUNCTION_MODULES)
import anthropic, anthropic.types, anthropic.types.beta, anthropic.types.shared, anthropic.lib.streaming

def described(value):
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return [type(value).__qualname__, name or repr(value).partition(" object at ")[0]]

found = {}
for module, names in json.load(sys.stdin).items():
    place = sys.modules[module]
    names = names or [name for name in sorted(dir(place)) if not name.startswith("_")]
    found[module] = {name: described(getattr(place, name)) for name in names}
print(json.dumps(found))
"""


def python(script: str, *arguments: str, given: str = "", **environ: str) -> Any:
    """What a script prints, in a process of its own."""
    clean = {key: text for key, text in os.environ.items() if not key.startswith(("ANTHROPIC", "PRUNECLI"))}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input=given, capture_output=True, text=True, check=False, cwd=ROOT, env={**clean, **environ}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_both_ways_of_importing_talk_alike_and_one_imports_little():
    with fake.serve(["Hello.", fake.HttpError(529), "Hello.", fake.HttpError(529)]) as endpoint:
        lazy = python(TALK, endpoint.base_url)
        eager = python(TALK, endpoint.base_url, **{lazy_import.EAGER_SWITCH: "1"})
    assert (lazy["text"], lazy["error"]) == (eager["text"], eager["error"]) == ("Hello.", "Overloaded")
    assert len(lazy["modules"]) < MODULE_CEILING < len(eager["modules"])
    assert not [name for name in lazy["modules"] if name.startswith("anthropic.types")]


def test_nothing_heavy_is_imported_before_it_is_needed():
    """Start-up: the modules of this package cost their own code only."""
    script = """
import json, sys
from prunecli.providers import messages_api as anthropic, models, thinking, tokenizer
print(json.dumps(sorted(sys.modules)))
"""
    heavy = {"anthropic", "email.utils", "httpx2", "pydantic", "tiktoken"}
    assert heavy.isdisjoint(python(script))


def test_the_first_frame_needs_neither_records_nor_the_agent():
    """What the screen imports before its first key: importing these takes a tenth of the start."""
    script = """
import json, sys
import prunecli.config, prunecli.flags, prunecli.tui.app
print(json.dumps(sorted(sys.modules)))
"""
    later = {
        "prunecli.model.events",
        "prunecli.providers.provider",
        "prunecli.runtime",
        "prunecli.agent.loop",
    }
    assert later.isdisjoint(python(script))


def test_the_environment_changes_neither_address_nor_headers_nor_proxy():
    """What an environment or a repository's .env says reaches the SDK by no way but ours."""
    environ = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "another-key",
        "ANTHROPIC_AUTH_TOKEN": "another-token",
        "ANTHROPIC_CUSTOM_HEADERS": "x-spy: 1",
        "ANTHROPIC_LOG": "debug",
        "ANTHROPIC_PROFILE": "other",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
        "SSL_CERT_FILE": "/nonexistent",
    }
    with fake.serve(["Hello.", fake.HttpError(529)]) as endpoint:
        assert python(TALK, endpoint.base_url, **environ)["text"] == "Hello."
        for request in endpoint.requests:
            assert request.headers["x-api-key"] == "key"
            assert "x-spy" not in request.headers


@pytest.mark.long
def test_every_public_name_of_the_sdk_is_the_one_that_the_plain_import_gives():
    wanted = {
        name: []
        for name in ("anthropic", "anthropic.types", "anthropic.types.shared", "anthropic.lib.streaming")
    }
    eager = python(PUBLIC_NAMES, "eager", given=json.dumps(wanted))
    lazy = python(
        PUBLIC_NAMES, "lazy", given=json.dumps({module: list(names) for module, names in eager.items()})
    )
    assert lazy == eager
    assert len(eager["anthropic.types"]) > 300


def test_the_switch_is_one_value_of_one_variable():
    assert lazy_import.wanted({})
    assert lazy_import.wanted({lazy_import.EAGER_SWITCH: "0"})
    assert not lazy_import.wanted({lazy_import.EAGER_SWITCH: "1"})


# Small packages ----------------------------------------------------------------------------------------------


class Packages:
    """Writes packages and imports them through the hook."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.roots: list[str] = []

    def write(self, name: str, files: dict[str, str], functions: tuple[str, ...] = ()) -> Any:
        package = self.folder / name
        for path, source in files.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(source)
        importlib.invalidate_caches()
        self.roots.append(name)
        sys.meta_path.insert(0, lazy_import.LazyPackages([name], functions))
        return importlib.import_module(name)


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    made = Packages(tmp_path)
    before = list(sys.meta_path)
    sys.path.insert(0, str(tmp_path))
    yield made
    sys.path.remove(str(tmp_path))
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.partition(".")[0] in made.roots]:
        del sys.modules[name]


def test_a_re_export_is_imported_when_it_is_asked_for(packages: Packages):
    package = packages.write(
        "laz_a",
        {
            "__init__.py": "from .one import One, Uno as One2\nfrom .two import (\n    Two,  # why, and how\n)\n",
            "one.py": "class One: pass\nUno = One\n",
            "two.py": "class Two: pass\n",
        },
    )
    assert not {"laz_a.one", "laz_a.two"} & set(sys.modules)
    assert package.One is package.One2 is sys.modules["laz_a.one"].One
    assert "laz_a.two" not in sys.modules
    from laz_a import Two  # type: ignore[import-not-found]

    assert Two is sys.modules["laz_a.two"].Two


@pytest.mark.parametrize("name", ["made", "Later", "starred", "inner", "__all__"])
def test_what_an_init_does_itself_is_done_when_it_is_asked_for(packages: Packages, name: str):
    package = packages.write(
        "laz_b",
        {
            "__init__.py": (
                "from .one import One\nfrom .two import *\nfrom .one import One as Later\n"
                "if True:\n    from .one import inner\n"
                "def made(): return One\nclass Later: pass\n__all__ = ['One']\nran.append(1)\n"
            ),
            "one.py": "class One: pass\ninner = 7\n",
            "two.py": "starred = 1\nran = []\n",
        },
    )
    assert "laz_b.two" not in sys.modules
    value = getattr(package, name)
    assert package.ran == [1]
    assert (package.made(), package.Later.__module__) == (package.One, "laz_b")
    assert value is vars(package)[name]


def test_a_package_where_a_name_is_a_submodule_s_too_is_run_at_once(packages: Packages):
    package = packages.write(
        "laz_c", {"__init__.py": "from .tool import tool\n", "tool.py": "def tool(): return 'called'\n"}
    )
    assert "laz_c.tool" in sys.modules
    assert package.tool() == "called"
    importlib.import_module("laz_c.tool")
    assert package.tool() == "called"


def test_a_package_that_resolves_names_by_itself_still_does(packages: Packages):
    """A later SDK may come with a `__getattr__` of its own (PEP 562)."""
    package = packages.write(
        "laz_j",
        {
            "__init__.py": (
                "from .one import One\n"
                "def __getattr__(name):\n"
                "    if name == 'later': return 'made when it was asked for'\n"
                "    raise AttributeError(f'laz_j has no {name}')\n"
            ),
            "one.py": "class One: pass\n",
        },
    )
    assert "laz_j.one" not in sys.modules
    assert package.later == "made when it was asked for"
    assert package.One is sys.modules["laz_j.one"].One
    with pytest.raises(AttributeError, match="laz_j has no nothing"):
        _ = package.nothing


def test_a_module_of_functions_that_has_moved_is_not_missed(packages: Packages):
    package = packages.write(
        "laz_k", {"__init__.py": "from .one import One\n", "one.py": "class One: pass\n"}, ("laz_k.gone",)
    )
    assert package.One is sys.modules["laz_k.one"].One


def test_a_name_that_is_nowhere_is_an_attribute_error_as_ever(packages: Packages):
    package = packages.write(
        "laz_d", {"__init__.py": "from .one import One\n", "one.py": "class One: pass\n"}
    )
    with pytest.raises(AttributeError, match="module 'laz_d' has no attribute 'Nothing'"):
        _ = package.Nothing
    assert not hasattr(package, "__wrapped__")


def test_a_submodule_is_an_attribute_and_its_error_is_its_own(packages: Packages):
    package = packages.write(
        "laz_e",
        {"__init__.py": "from .good import Good\n", "good.py": "class Good: pass\n", "bad.py": "1 / 0\n"},
    )
    assert package.good.Good is package.Good
    with pytest.raises(ZeroDivisionError):
        _ = package.bad


def test_modules_that_need_their_package_while_it_runs_get_it(packages: Packages):
    package = packages.write(
        "laz_f",
        {
            "__init__.py": "from .one import One\nhere = 1\nfrom . import two\nalso = two.seen\n",
            "one.py": "class One: pass\n",
            "two.py": "from . import One, here\nseen = (One, here)\n",
        },
    )
    assert package.also == (package.One, 1)


def test_threads_that_ask_at_once_get_the_same(packages: Packages):
    package = packages.write(
        "laz_g", {"__init__.py": "from .one import One\nmade = One()\n", "one.py": "class One: pass\n"}
    )
    barrier, found = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        found.append((package.One, package.made.__class__))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {(package.One, package.One)}


def test_a_module_of_functions_runs_when_one_is_called(packages: Packages):
    files = {
        "__init__.py": "",
        "work.py": "from .heavy import Heavy\nLIMIT = 3\ndef double(x, *, by=2): return x * by\n",
        "heavy.py": "class Heavy: pass\n",
        "user.py": "from .work import double\n",
    }
    packages.write("laz_h", files, ("laz_h.work",))
    user = importlib.import_module("laz_h.user")
    assert "laz_h.heavy" not in sys.modules
    assert user.double(4) == 8
    assert user.double(4, by=3) == 12
    assert "laz_h.heavy" in sys.modules


@pytest.mark.parametrize("name", ["LIMIT", "Heavy"])
def test_a_module_of_functions_runs_when_anything_else_is_asked_for(packages: Packages, name: str):
    files = {
        "__init__.py": "",
        "work.py": "from .heavy import Heavy\nLIMIT = 3\ndef double(x): return x * 2\n",
        "heavy.py": "class Heavy: pass\n",
    }
    packages.write("laz_i", files, ("laz_i.work",))
    work = importlib.import_module("laz_i.work")
    assert getattr(work, name) is vars(work)[name]
    assert work.double is vars(work)["double"]


def test_the_hook_leaves_other_packages_alone_and_is_put_in_once():
    hook = lazy_import.LazyPackages(["laz_x"])
    assert hook.find_spec("json", None) is None
    before = list(sys.meta_path)
    lazy_import.install(["laz_x"])
    lazy_import.install(["laz_x"])
    assert len(sys.meta_path) == len(before) + 1
    sys.meta_path[:] = before
