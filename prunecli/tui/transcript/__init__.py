"""The transcript: everything said and done in a session, laid out row by row and only where it is looked at.

`entries` says what can be shown, `view` shows it. Nothing here knows the agent.
"""
