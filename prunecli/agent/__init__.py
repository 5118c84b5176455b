"""The agent: decide the next step, judge and run tool calls, retry requests."""
