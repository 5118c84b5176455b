"""The transcript: a session's messages and tool calls, laid out row by row, and only where visible.

`presentation.entries` defines the entries, and `transcript_view` shows them. Nothing here depends on the agent.
"""
