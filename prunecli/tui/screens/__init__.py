"""The main screen and the screens opened over it."""
