"""The agent: what happens next, and its short interpreter."""
