"""Sessions: the append-only log on the disk, its fold in memory, and finding them again."""
