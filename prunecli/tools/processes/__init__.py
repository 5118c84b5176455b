"""Running commands: what children are given, how they are watched over, how their output is kept."""
