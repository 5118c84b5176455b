"""One file for each strategy: its rules, its options, its thresholds."""
