"""The transcript: a session's messages and tool calls, laid out row by row, and only where visible.

`entries` defines what can be shown, `view` shows it. Nothing here knows the agent.
"""
