"""The context inspector: the tree behind /context, manual edits, and costs. The engine never imports it."""
