"""Tests of the session file."""
