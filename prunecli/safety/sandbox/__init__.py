"""The sandbox for the model's commands; see README.md."""
