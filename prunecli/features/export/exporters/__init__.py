"""Exporters: each module writes a session's records in one format."""
