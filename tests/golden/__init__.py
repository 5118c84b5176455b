"""Golden requests: what each strategy makes of real sessions, fixed byte for byte."""
