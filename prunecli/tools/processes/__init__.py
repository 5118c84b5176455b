"""Run commands: their environment, their supervisor, their output."""
