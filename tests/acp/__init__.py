"""Tests of the Agent Client Protocol: prunecli as an editor's agent."""
