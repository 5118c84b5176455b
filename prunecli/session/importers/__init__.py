"""Readers of other programs' session files, one module per format. They return records in the form that prunecli
logs."""
