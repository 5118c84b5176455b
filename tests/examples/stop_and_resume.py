"""Stop the agent at its first call, and go on in another process.

python tests/examples/stop_and_resume.py FOLDER PROMPT      # prints the session's id
python tests/examples/stop_and_resume.py FOLDER --go-on ID
"""

import asyncio
import sys

from prunecli.library import Agent, Finished, ToolUse


async def begin(folder: str, prompt: str) -> str:
    """Run a prompt until the first call, and return the session's id."""
    async with Agent(cwd=folder, trust=True) as agent:
        async for event in agent.run(prompt):
            if isinstance(event, ToolUse):
                agent.stop()
        return agent.session_id


async def go_on(folder: str, session: str) -> str:
    """Continue the session and return the answer."""
    async with Agent.resume(session, cwd=folder, trust=True) as agent:
        async for event in agent.run("Go on."):
            if isinstance(event, Finished) and event.reason != "finished":
                raise SystemExit(f"{event.reason}: {event.note}")
        return agent.text


if __name__ == "__main__":
    folder, word, *more = sys.argv[1:]
    print(asyncio.run(go_on(folder, more[0]) if word == "--go-on" else begin(folder, word)))
