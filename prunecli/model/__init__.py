"""The values that everything is built from: blocks, events, records, edits, requests, and their JSON."""
