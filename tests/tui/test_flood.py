"""A flood through the endpoint, the loop, the log and the bridge is on the transcript to its last character."""

from pathlib import Path

from prunecli.front.presentation.entries import Assistant
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Text
from prunecli.providers.messages_api import AnthropicProvider
from prunecli.providers.messages_api import Endpoint as Whom
from prunecli.tui.transcript.copying import selected_text
from prunecli.tui.transcript.selection import Span
from tests.endpoint.script import Reply
from tests.endpoint.server import Endpoint
from tests.starting import start
from tests.tui.showing_app import shown
from tests.tui.transcript.showing import MARKDOWN, document


async def test_all_of_a_flood_is_shown_as_if_it_had_come_at_once(tmp_path: Path) -> None:
    """In deltas of 40 characters, as fast as they are taken."""
    text = "".join(f"## Part {number}\n\n{MARKDOWN}\n" for number in range(60))
    async with Endpoint([Reply(text)]) as endpoint:
        provider = AnthropicProvider(Whom(api_key="sk-ant-x", base_url=endpoint.base_url))
        runtime = start(tmp_path, provider=provider)
        async with shown(tmp_path, runtime=runtime, size=(100, 30)) as s:
            await s.type("go", "enter")
            await s.until(lambda: s.runtime.session.records[-1].event.__class__.__name__ == "RunEnded")
            await s.idle()
            transcript = s.frame.transcript
            await s.until(lambda: not transcript.document.waiting)
            key = next(item.key for item in transcript.document.items(1) if isinstance(item.entry, Assistant))
            on_screen = selected_text(transcript.document, Span(key << 64, (key + 1) << 64))
        assert not endpoint.rejected
    logged = [record.event for record in runtime.session.records]
    (answer,) = [event for event in logged if isinstance(event, AssistantMessage)]
    assert answer.content == (Text(text),)
    whole = document(Assistant(text), width=98)
    assert on_screen.lstrip("\n") == selected_text(whole, Span(0, 1 << 64))
