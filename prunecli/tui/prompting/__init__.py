"""What helps typing: history, drafts, pastes, fuzzy matching, completion. No screen in here."""
