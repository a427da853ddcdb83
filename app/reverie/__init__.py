"""Reverie: a desktop memory browser for coding agents."""

__version__ = "0.1.0"
