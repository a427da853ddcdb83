"""The text of one file as a run sees and leaves it.

Every edit is remembered, so that it is made again on what somebody else wrote meanwhile; the transaction of
the run then compares and swaps against exactly that (`runs.run`). What no longer fits is an error, never
forced. A secret that the file does not hold already never gets into it, whatever a model does: each later
session reads that file.

Not thread-safe: one run, one draft. Failure: `StoreError`, from which a model can recover.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from reverie.errors import StoreError
from reverie.text.redact import find_secrets

Edit = Callable[[str], str]
"""Makes a new text of the one that is there; raises `StoreError` where that is not possible."""


class FileDraft(ABC):
    """`read` gives the bytes of the file now, None for no file. What a text may be, and the words of a
    refusal, are those of the kind of file."""

    def __init__(self, read: Callable[[], bytes | None]) -> None:
        self._read = read
        self._before = read()
        self._base = self._text = self._decoded(self._before)
        self._edits: list[Edit] = []
        self.original = self._text
        """What the file said when the run first read it."""

    @property
    def text(self) -> str:
        return self._text

    @property
    def exists(self) -> bool:
        return self._before is not None or bool(self._edits)

    @property
    def before(self) -> bytes | None:
        """The bytes on disk that the draft builds on."""
        return self._before

    @property
    def after(self) -> bytes:
        return self._text.encode("utf-8")

    @property
    def changed(self) -> bool:
        return self._text != self._base

    def refresh(self) -> None:
        """Look at the disk again; what was edited on top of an older version is edited again. Raises
        `StoreError` where that is not possible: then the draft is what stands on disk."""
        now = self._read()
        if now == self._before:
            return
        edits, self._edits = self._edits, []
        self._before, self._base = now, self._decoded(now)
        text = self._text = self._base
        for edit in edits:
            try:
                text = edit(text)
            except StoreError:
                raise self._no_longer_fits() from None
        self._text, self._edits = text, edits

    def edit(self, edit: Edit) -> None:
        """One edit, on what stands on disk now. Raises `StoreError`."""
        self.refresh()
        text = edit(self._text)
        if len(text) > len(self._text):
            self._require_room(text)
        if not _secrets(text) <= _secrets(self._base):
            raise self._holds_a_secret()
        self._text = text
        self._edits.append(edit)

    @abstractmethod
    def _decoded(self, data: bytes | None) -> str:
        """What the bytes on disk say, and what a missing file begins with. Raises `StoreError`."""

    @abstractmethod
    def _require_room(self, text: str) -> None:
        """Raises `StoreError` for a text that is longer than it may grow."""

    @abstractmethod
    def _no_longer_fits(self) -> StoreError: ...

    @abstractmethod
    def _holds_a_secret(self) -> StoreError: ...


def in_newline_style(text: str, old: str, new: str) -> tuple[str, str]:
    """A replacement as it was given, or, where `old` is not found so, with the line ends of `text`."""
    if old in text:
        return old, new
    newline = "\r\n" if "\r\n" in text else "\n"

    def styled(part: str) -> str:
        return part.replace("\r\n", "\n").replace("\n", newline)

    return styled(old), styled(new)


def _secrets(text: str) -> set[str]:
    return {text[secret.start : secret.end] for secret in find_secrets(text)}
