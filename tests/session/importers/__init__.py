"""Tests of the importers."""
