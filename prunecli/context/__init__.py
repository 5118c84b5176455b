"""The pruning engine: pure. It folds the log into the working context, proposes edits and judges when to apply."""
