"""The values everything is made of: blocks, events, records, edits, requests, and their JSON."""
