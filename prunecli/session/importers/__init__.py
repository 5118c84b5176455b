"""Readers of other programs' session files, one module per format. They return records as prunecli logs them."""
