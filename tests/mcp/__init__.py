"""Tests of MCP."""
