"""An event stream with live figures of context, pruning and cost; after the first call, the agent is steered.

python tests/examples/live_figures.py FOLDER PROMPT [STEERING]
"""

import asyncio
import sys

from prunecli.library import Agent, Figures, Finished, Notice, Pruned, TextDelta, ToolResult, ToolUse


async def watch(folder: str, prompt: str, steering: str = "") -> None:
    """Run a prompt and print what happens."""
    async with Agent(cwd=folder, trust=True, mode="edits", pruning__strategy="pi") as agent:
        async for event in agent.run(prompt):
            match event:
                case TextDelta(text):
                    print(text, end="", flush=True)
                case ToolUse(name=name, input=given):
                    print(f"\n→ {name} {dict(given)}")
                    if steering:
                        agent.steer(steering)
                        steering = ""
                case ToolResult(is_error=is_error):
                    print("  failed" if is_error else "  done")
                case Figures() as now:
                    used = f"{now.context_tokens:,} of {now.window:,} tokens"
                    print(f"  [{used}, {now.pruned_tokens:,} pruned, ${now.cost_usd:.4f}]")
                case Pruned(text=text) | Notice(text=text):
                    print(f"  {text}")
                case Finished(reason=reason):
                    print(f"\n{reason}")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(watch(*sys.argv[1:4]))
