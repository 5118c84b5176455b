"""The parts of the screen around the transcript."""
