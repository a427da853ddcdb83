"""What a running dream tells those who wait for it."""

from reverie.runs.changes import Progress as DreamProgress

__all__ = ["DreamProgress"]
