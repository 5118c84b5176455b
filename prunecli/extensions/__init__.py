"""Extensions that people add to the agent as files: skills, commands, subagents and hooks."""
