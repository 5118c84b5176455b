"""The agent: decides the next step, judges and runs tool calls, and retries requests."""
