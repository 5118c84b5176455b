"""Fetches web pages: addresses and what they may lead to, the download, and its text."""
