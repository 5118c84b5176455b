"""Tests of the composition root."""
