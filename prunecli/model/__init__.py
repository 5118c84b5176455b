"""The basic values: blocks, events, records, edits, requests, and their JSON."""
