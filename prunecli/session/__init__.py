"""Sessions: the append-only log on disk, its fold in memory, and ways to find them again."""
