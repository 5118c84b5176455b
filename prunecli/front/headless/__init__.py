"""Headless runs: `prunecli -p`, one run after another from standard input, and their slash commands."""
