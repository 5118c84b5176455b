"""What shows a session and takes input: presentation, the plain interface, headless runs."""
