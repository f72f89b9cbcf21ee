"""Figures: how fast the product is, on this machine, now. See ``__main__``."""
