"""The saved files of a runtime: saved before the first change after a prompt, and when the agent is idle again."""

from prunecli.features.rewind.file_snapshots import FileSaver
from prunecli.model.messages import ToolUse
from prunecli.runtime.host import Host
from prunecli.runtime.parts import Part


class Files(Part):
    """The saver of this runtime's files, which tasks share."""

    shared = True

    def __init__(self, host: Host, parent: "Files | None") -> None:
        super().__init__(host, parent)
        self.saver = FileSaver(host.setup, lambda: host.config, lambda: host.session)

    async def before_change(self, call: ToolUse) -> None:
        await self.saver.before(call)

    async def idle(self) -> None:
        await self.saver.after()

    async def close(self) -> None:
        await self.saver.close()


def saver_of(host: Host) -> FileSaver:
    return host.parts.of(Files).saver
