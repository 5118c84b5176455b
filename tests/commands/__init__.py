"""Tests of the slash commands."""
