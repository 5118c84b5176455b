"""The strategies, one file each; the file's name is the strategy's name in `[pruning] strategy`."""
