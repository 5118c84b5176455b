"""The widgets around the transcript."""
