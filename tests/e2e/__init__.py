"""The whole program against the strict endpoint: headless, in one process, and in a real terminal."""
