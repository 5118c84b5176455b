"""Programs that use prunecli as a library. tests/test_library_agent.py runs each."""
