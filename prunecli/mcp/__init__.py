"""Servers of the Model Context Protocol: their definitions, connections and tools.

The only package that imports the SDK (`mcp`, from the extra `prunecli[mcp]`), and only
once a server is to be started.
"""
