"""A title by a small model, where one is configured."""

from pathlib import Path

from prunecli.features.titles.part import Titling
from prunecli.model.events import AttemptBilled, SettingChanged
from prunecli.session.digest import Titled
from prunecli.session.titles import TITLE
from tests.scripted import says
from tests.starting import start
from tests.waiting import until


async def test_after_the_first_answer_a_small_model_titles_the_session_once(tmp_path: Path) -> None:
    script = [says("Done."), says('"Cart totals fixed."\n'), says("Done again.")]
    runtime = start(tmp_path, script, sets=["titles.model=haiku"])
    await runtime.submit("please fix the total of the cart")
    await until(lambda: TITLE in runtime.session.context.settings)
    await runtime.submit("go on")
    await runtime.close()
    records = [record.event for record in runtime.session.records]
    assert [event.value for event in records if event == SettingChanged(TITLE, "Cart totals fixed")] == [
        "Cart totals fixed"
    ]
    (billed,) = [event for event in records if isinstance(event, AttemptBilled)]
    assert (billed.reason, billed.model.startswith("claude-haiku")) == ("title", True)
    assert Titled().title(runtime.session.records) == "Cart totals fixed"


async def test_without_a_model_or_with_a_name_nothing_is_asked(tmp_path: Path) -> None:
    runtime = start(tmp_path / "a", [says("Done.")])
    await runtime.submit("fix it")
    named = start(tmp_path / "b", [says("Done.")], sets=["titles.model=haiku"])
    named.emit(SettingChanged("session.name", "mine"))
    await named.submit("fix it")
    for one in (runtime, named):
        await Titling(one, None).idle()
        await one.close()
        assert TITLE not in one.session.context.settings
    assert Titled().title(named.session.records) == "mine"
