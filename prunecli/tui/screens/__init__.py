"""The screens: the conversation, and those that are opened over it."""
