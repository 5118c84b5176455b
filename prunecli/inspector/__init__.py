"""Looking at a context: the tree behind /context, acts by hand, what each thing cost. The engine never reaches it."""
