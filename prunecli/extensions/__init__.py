"""What users add in Markdown: subagents, skills and commands."""
