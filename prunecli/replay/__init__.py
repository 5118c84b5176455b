"""Plays recorded sessions through strategies: what each would have sent, request by request, and what it cost."""
