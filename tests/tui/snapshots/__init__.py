"""Pictures of screens, as SVG beside the tests: what a screen looked like when somebody last looked at it."""
