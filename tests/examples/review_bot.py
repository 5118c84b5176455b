"""A review bot: the agent may read, and every call that could change something is denied and listed.

python tests/examples/review_bot.py FOLDER
"""

import asyncio
import sys

from prunecli.library import Agent, Answer, Asked, Finished, Message


async def review(folder: str) -> str:
    """Return the review of a folder."""
    denied: list[str] = []

    def permissions(asked: Asked) -> Answer:
        denied.append(f"{asked.call.name}: {asked.reason}")
        return Answer("deny", "this is a review: say what you would change instead")

    review = ""
    async with Agent(cwd=folder, trust=True, permissions=permissions) as agent:
        async for event in agent.run("Review this project. What is wrong, and how would you fix it?"):
            match event:
                case Message(text=text, usage=usage):
                    print(f"  … {usage.output_tokens} tokens", file=sys.stderr)
                    review = text or review
                case Finished(reason=reason):
                    print(f"  {reason}; denied: {denied or 'nothing'}", file=sys.stderr)
                case _:
                    pass
    return review


if __name__ == "__main__":
    print(asyncio.run(review(sys.argv[1])))
