"""Typing aids: history, drafts, pastes, fuzzy matching, completion. Independent of the screen."""
