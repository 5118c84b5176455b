"""What the original programs answered to random transcripts."""
