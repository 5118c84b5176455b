"""Replays recorded sessions under strategies, to compute what each would have sent and cost, request by request."""
