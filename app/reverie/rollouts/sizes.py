"""Cutting text to bytes the way Codex does: the marker counts, no character is split (formats/codex.md
section 2). Pure; `HeadTail` keeps only what it may show, however much it is fed.
"""

from __future__ import annotations

TRACE_BYTES = 300_000
TRACE_MARKER = "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
SUMMARY_BYTES = 1_200
SUMMARY_MARKER = " [...summary truncated...]"
ROLLOUT_BYTES = 1_000_000
ROLLOUT_MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


def cut_trace(text: str) -> str:
    """At most 300,000 bytes: the first and the last half."""
    kept = HeadTail(TRACE_BYTES, TRACE_MARKER, head_share=2)
    kept.feed(text.encode("utf-8", "replace"))
    return kept.text()


def cut_summary(text: str) -> str:
    """At most 1,200 bytes, the beginning."""
    data = text.encode("utf-8", "replace")
    if len(data) <= SUMMARY_BYTES:
        return text
    return _head(data, SUMMARY_BYTES - len(SUMMARY_MARKER)) + SUMMARY_MARKER


class HeadTail:
    """The first part (one `head_share`-th) and the last of what it is fed, with `marker` between them where
    something was left out; at most `limit` bytes."""

    def __init__(self, limit: int, marker: str, *, head_share: int) -> None:
        self._limit = limit
        self._marker = marker
        room = limit - len(marker.encode())
        self._head_bytes = room // head_share
        self._tail_bytes = room - self._head_bytes
        self._whole = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def truncated(self) -> bool:
        return self.total > self._limit

    def feed(self, data: bytes) -> None:
        """Take in the next bytes; only head and tail are kept."""
        self.total += len(data)
        room = self._limit - len(self._whole)
        if room > 0:
            self._whole += data[:room]
        if self.truncated:
            if not self._tail:
                self._tail += self._whole
                data = data[max(room, 0) :]
            self._tail += data[-self._tail_bytes - 4 :]
            if len(self._tail) > 2 * self._limit:
                del self._tail[: -self._tail_bytes - 4]

    def skip(self, size: int) -> None:
        """So many bytes were left out before they came here; what follows fills the tail by itself."""
        self.total += size

    def text(self) -> str:
        """All of it, or head and tail with the marker between them."""
        if not self.truncated:
            return bytes(self._whole).decode("utf-8", "replace")
        return (
            _head(bytes(self._whole), self._head_bytes)
            + self._marker
            + _tail(bytes(self._tail[-self._tail_bytes :]))
        )


def _head(data: bytes, size: int) -> str:
    """The longest beginning of at most `size` bytes that splits no character."""
    size = min(size, len(data))
    while size and size < len(data) and data[size] & 0xC0 == 0x80:
        size -= 1
    return data[:size].decode("utf-8", "replace")


def _tail(data: bytes) -> str:
    """The longest end that begins with a whole character."""
    start = 0
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")
