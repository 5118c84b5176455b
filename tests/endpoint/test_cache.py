"""Does the usage report what the documented prompt cache would have read and written?"""

from typing import Any

import pytest

from tests.endpoint.cache import PromptCache, Usage
from tests.endpoint.judge import Judge
from tests.endpoint.rules import Rules
from tests.endpoint.sample import TOOL, assistant, body, call, post, result, user


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Account:
    """Judges bodies and accounts them."""

    def __init__(self, rules: Rules | None = None):
        self.clock = Clock()
        self.judge = Judge(rules or Rules())
        self.cache = PromptCache(rules or Rules(), self.clock)

    def __call__(self, *messages: Any, **fields: Any) -> Usage:
        return self.cache.account(self.judge.judge(post(body(*messages, **fields))).prompt)


@pytest.fixture
def account() -> Account:
    return Account()


def words(tokens: int, name: str = "x", **more: Any) -> dict[str, Any]:
    """A text block of so many tokens."""
    return {"type": "text", "text": name * (4 * tokens), **more}


def marked(block: dict[str, Any], ttl: str = "") -> dict[str, Any]:
    return {**block, "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


def figures(usage: Usage) -> tuple[int, int, int]:
    """read, written, new"""
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens


def test_without_breakpoints_everything_is_input(account: Account):
    for _ in range(2):
        assert figures(account(user(words(100)))) == (0, 0, 100)


def test_a_breakpoint_writes_and_the_next_request_reads(account: Account):
    first = user(marked(words(100)))
    assert figures(account(first)) == (0, 100, 0)
    grown = [user(words(100)), assistant(words(10, "y")), user(marked(words(20, "z")), words(5, "w"))]
    assert figures(account(*grown)) == (100, 30, 5)
    assert figures(account(*grown)) == (130, 0, 5)


def test_tools_and_system_come_before_the_messages(account: Account):
    system = [marked(words(50, "s"))]
    tokens = account(user("a"), tools=[TOOL], system=system).cache_creation_input_tokens
    assert tokens > 50
    assert account(user("b"), tools=[TOOL], system=system).cache_read_input_tokens == tokens
    assert account(user("b"), tools=[], system=system).cache_read_input_tokens == 0


def test_a_change_in_front_of_it_makes_an_entry_useless(account: Account):
    account(user(words(10), marked(words(10, "y"))))
    assert figures(account(user(words(10, "z"), marked(words(10, "y"))))) == (0, 20, 0)


def test_a_string_is_a_text_block_and_nulls_are_nothing(account: Account):
    account(user(marked(words(10))), assistant("ok"), user("more"))
    text = "x" * 40
    same = [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}, user(marked(words(1)))]
    assert account(*same).cache_read_input_tokens == 10


def test_the_order_of_keys_in_an_input_counts(account: Account):
    """As it does for the service: a client must send the same bytes again."""
    one = {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1, "q": 2}}
    other = {**one, "input": {"q": 2, "p": 1}}
    tail = user(marked(result("a")))
    written = account(user("x"), assistant(one), tail).cache_creation_input_tokens
    assert account(user("x"), assistant(other), tail).cache_read_input_tokens == 0
    assert account(user("x"), assistant(one), tail).cache_read_input_tokens == written


def test_a_breakpoint_looks_back_over_twenty_blocks_itself_included(account: Account):
    blocks = [words(1, str(n % 10)) for n in range(40)]
    account(user(*blocks[:10], marked(blocks[10])))
    assert account(user(*blocks[:29], marked(blocks[29]))).cache_read_input_tokens == 11

    fresh = Account()
    fresh(user(*blocks[:10], marked(blocks[10])))
    assert fresh(user(*blocks[:30], marked(blocks[30]))).cache_read_input_tokens == 0
    nearer = Account()
    nearer(user(*blocks[:10], marked(blocks[10])))
    between = [*blocks[:20], marked(blocks[20]), *blocks[21:35], marked(blocks[35])]
    assert figures(nearer(user(*between))) == (11, 25, 0), "a second breakpoint in between finds it"


def test_entries_die_after_five_minutes_and_live_on_when_read(account: Account):
    request = user(marked(words(100)))
    account(request)
    account.clock.now = 299
    assert account(request).cache_read_input_tokens == 100
    account.clock.now = 299 + 299
    assert account(request).cache_read_input_tokens == 100, "reading refreshed it"
    account.clock.now += 300
    assert figures(account(request)) == (0, 100, 0)


def test_what_is_read_renews_the_shorter_entries_within_it(account: Account):
    first, second, third = words(100, "a"), words(10, "b"), words(10, "c")
    account(user(marked(first)))
    account(user(first, marked(second)))
    for account.clock.now in (200, 400):
        assert account(user(first, marked(second))).cache_read_input_tokens == 110
    assert account(user(first, marked(third))).cache_read_input_tokens == 100


def test_an_entry_of_an_hour_lives_an_hour_also_behind_a_shorter_mark(account: Account):
    account(user(marked(words(100), "1h")))
    account.clock.now = 3599
    assert account(user(marked(words(100)))).cache_read_input_tokens == 100
    account.clock.now += 3599
    assert account(user(marked(words(100)))).cache_read_input_tokens == 100


def test_what_is_written_is_split_by_lifetime(account: Account):
    usage = account(user(marked(words(100), "1h"), marked(words(20)), words(3)))
    assert (usage.write_1h, usage.write_5m, usage.input_tokens) == (100, 20, 3)
    assert usage.json()["cache_creation"] == {
        "ephemeral_5m_input_tokens": 20,
        "ephemeral_1h_input_tokens": 100,
    }
    assert usage.prompt_tokens == 123


def test_below_the_minimum_nothing_is_stored():
    account = Account(Rules(cache_minimum=1024))
    small, large = user(marked(words(1023))), user(marked(words(1024)))
    assert [figures(account(small)) for _ in range(2)] == [(0, 0, 1023)] * 2
    assert [figures(account(large)) for _ in range(2)] == [(0, 1024, 0), (1024, 0, 0)]


def test_another_model_shares_nothing_other_parameters_only_the_preamble(account: Account):
    system = [marked(words(50, "s"))]
    ask = user(marked(words(100)))
    account(ask, system=system)
    assert account(ask, system=system, model="claude-opus-5").cache_read_input_tokens == 0
    thinking = {"type": "adaptive"}
    assert account(ask, system=system, thinking=thinking).cache_read_input_tokens == 50
    effort = {"output_config": {"effort": "low"}}
    assert account(ask, system=system, **effort).cache_read_input_tokens == 50
    assert account(ask, system=system).cache_read_input_tokens == 150


def test_automatic_caching_marks_the_last_block_that_can_be_marked(account: Account):
    automatic = {"cache_control": {"type": "ephemeral"}}
    assert figures(account(user(words(100)), **automatic)) == (0, 100, 0)
    assert figures(account(user(words(100)), assistant("x"), user(words(5)), **automatic)) == (100, 6, 0)


def test_what_a_cache_could_have_read_is_known_without_any_breakpoint(account: Account):
    first, second = user(words(100)), [user(words(100)), assistant(words(7, "y")), user(words(9, "z"))]
    assert account(first).reusable == 0
    assert account(*second).reusable == 100
    assert account(*second).reusable == 116
    assert account(user(words(100)), assistant(words(7, "q")), user("r")).reusable == 100
    assert account(user(words(99))).reusable == 0


def test_an_agent_that_marks_the_end_reads_all_that_can_be_read(account: Account):
    messages = [user(words(50))]
    for n in range(12):
        marks = [*messages[:-1], user(*messages[-1]["content"][:-1], marked(messages[-1]["content"][-1]))]
        usage = account(*marks, tools=[TOOL], system=[words(200, "s")])
        assert usage.cache_read_input_tokens == usage.reusable
        assert usage.input_tokens == 0
        messages += [assistant(call(f"c{n}", path="x")), user(result(f"c{n}", "r" * 400))]


def test_the_full_and_the_incremental_judge_lead_to_the_same_figures():
    full, incremental = Account(), Account()
    full.judge, incremental.judge = Judge(Rules(), "full"), Judge(Rules(), "incremental")
    messages = [user(words(50))]
    for n in range(8):
        messages += [assistant(call(f"c{n}", path="x")), user(marked(result(f"c{n}")))]
        messages[2 * n]["content"][-1].pop("cache_control", None)
        if n == 5:
            del messages[1:3]
        assert full(*messages) == incremental(*messages)


def test_usage_without_cache_fields_counts_all_as_input():
    usage = Usage(5, 100, 20, 3, output_tokens=7)
    assert usage.json(cache_fields=False) == {"input_tokens": 128, "output_tokens": 7}
