"""The configuration: options from files, environment and flags, typed and checked, each with its source."""
