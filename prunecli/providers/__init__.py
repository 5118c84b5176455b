"""Providers send requests to a model and stream the response. `available` contains them, one file each."""
