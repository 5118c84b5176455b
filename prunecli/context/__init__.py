"""The pruning engine, without I/O. It folds the log into the working context, proposes edits, and decides when to
apply them."""
