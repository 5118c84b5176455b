"""Layers, frozen proposals and how they are applied."""
