"""Tests of the sandbox: what it lets through, and above all what it does not."""
