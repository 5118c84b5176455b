"""Running commands: their environment, their supervisor and their output."""
