"""Providers: who answers a request. Each file is one; the file's name is the name in `[model] provider`."""
