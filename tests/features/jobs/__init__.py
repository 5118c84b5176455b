"""Tests of the feature jobs."""
