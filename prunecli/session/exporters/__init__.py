"""Writing sessions for others: each file turns a session's records into one format."""
