"""Servers of the Model Context Protocol: their definitions, connections and tools.

This is the only package that imports the SDK (`mcp`, from the extra `prunecli[mcp]`), and only when a server is about
to start.
"""
