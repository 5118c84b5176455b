"""The parts of a permission judgement: rules, places, and the commands of a shell line."""
