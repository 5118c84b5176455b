"""What a judgement of a call rests on: rules, places, and what a line of shell really says."""
