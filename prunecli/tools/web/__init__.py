"""Fetches web pages: checks addresses, downloads pages and converts them to text."""
