"""Tests of the plain interface."""
