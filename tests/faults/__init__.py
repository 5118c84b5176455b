"""Faults injected into whole sessions: killed, cut off, out of space, raced for."""
