"""Tests of the door of features: each folder can be removed without a trace."""
