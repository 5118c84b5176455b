"""The parts of a permission judgment: rules, places, and the commands of a shell line."""
