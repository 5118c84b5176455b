"""The line that says what the agent is doing, and for how long."""

from textual.app import App, ComposeResult

from prunecli.tui.widgets.activity import Activity


class Alone(App[None]):
    """The line, by a clock of the test's own."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0

    def compose(self) -> ComposeResult:
        yield Activity(lambda: "Esc stops", lambda: self.now)


async def test_waiting_for_the_user_has_a_time_of_its_own_and_is_none_of_the_works() -> None:
    app = Alone()
    async with app.run_test():
        line = app.query_one(Activity)
        line.begin("Working")
        app.now += 20
        assert "Working · 20s" in line.render().plain
        line.set_asking(True)
        app.now += 5
        assert "Waiting for you · 5s" in line.render().plain
        line.set_asking(False)
        app.now += 2
        assert "Working · 22s" in line.render().plain


async def test_the_time_of_the_whole_run_is_not_taken_for_that_of_the_call() -> None:
    app = Alone()
    async with app.run_test():
        line = app.query_one(Activity)
        line.begin("Running make")
        app.now += 5
        assert "Running make · 5s  " in line.render().plain
        line.show("Running bash")
        assert "Running bash · 5s total  " in line.render().plain


async def test_a_question_that_was_there_before_the_work_takes_nothing_from_its_time() -> None:
    app = Alone()
    async with app.run_test():
        line = app.query_one(Activity)
        line.set_asking(True)
        app.now += 50
        line.begin("Working")
        app.now += 3
        line.set_asking(False)
        app.now += 4
        assert "Working · 4s" in line.render().plain
