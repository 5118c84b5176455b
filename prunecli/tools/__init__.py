"""The agent's tools, one file each; the file's name is the tool's name. `tool.py` says what a tool is."""
