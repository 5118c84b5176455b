"""Providers send requests to a model and stream the response. `available` holds them, one file each."""
