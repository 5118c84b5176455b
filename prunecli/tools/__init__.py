"""The agent's tools, one file each; the file's name is the tool's name. `tool.py` defines a tool."""
