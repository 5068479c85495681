"""Attacks on text classifiers: searches for a text that means the same to a reader and something else to the model."""

from uegr.attacks.surface import Surface, load_surface

__all__ = ["Surface", "load_surface"]
