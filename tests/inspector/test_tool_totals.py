"""Which row of the totals per tool each part of the context counts in."""

from prunecli.context.outline import Outline
from prunecli.model.events import Attached, UserMessage
from prunecli.model.messages import Text
from prunecli.model.notes import notice
from tests.context.talk import Talk, tokens


def test_only_calls_of_the_model_count_for_a_tool() -> None:
    talk = Talk()
    talk.command(tokens(100))
    talk.user()
    attached = Attached("read", {"path": "a"})
    talk.add(UserMessage((Text("a"), Text(tokens(200))), "attachment", attached=attached))
    talk.add(UserMessage((Text("b.pdf"), Text(tokens(300))), "attachment"))
    first, second = talk.step("read", tokens(400)), talk.step("bash", tokens(500))
    talk.add(notice("A job ended", tokens(600)))
    talk.add(UserMessage((Text("/restore 3 4"), Text(tokens(700))), "command", restores=(first, second)))
    tools = {name: sums.results for name, sums in Outline(talk.context, ()).tools}
    assert tools == {"your commands": 2, "attachments": 2, "read": 1, "bash": 1, "notices": 1}
