"""The start of the program: flags, subcommands and the front end of a run."""
