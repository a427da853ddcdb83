"""The draft of one file: the content on disk with the edits of one run applied.

Not thread-safe: each run has its own draft. Failure: `StoreError`, from which a model can recover.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from reverie.errors import StoreError
from reverie.llm.tools import Tool
from reverie.text.redact import find_secrets

ALL = -1
"""The count of `FileDraft.replaced` that means every occurrence."""
MAX_ATTEMPTS = 2
"""The number of attempts that a model gets: the first one, and one after a reminder."""

Edit = Callable[[str], str]
"""A function from the present text to the new one; raises `StoreError` if the edit does not apply."""


class FileDraft(ABC):
    """Draft of one file, with the tools by which a model edits it.

    `read` returns the current bytes of the file, None if there is no file. Subclasses decide which texts are
    allowed.

    The draft records every edit and applies it again if another program writes the file meanwhile. The run's
    transaction then writes by compare-and-swap against exactly that version (`runs.run`). An edit that no
    longer applies is an error and is never forced. No edit can add a secret that is not yet in the file,
    because each later session reads the file.
    """

    name: ClassVar[str]
    """What to call the file in a sentence, such as "the notes"."""
    reason: ClassVar[str]
    """The reason, as an identifier for scripts, in the error of a refused edit."""
    template = ""
    """The text of a file that does not exist yet."""

    def __init__(self, read: Callable[[], bytes | None]) -> None:
        self._read = read
        self._before = read()
        self._base = self._text = self._decoded(self._before)
        self._edits: list[Edit] = []
        self.original = self._text
        """The text of the file when the run first read it."""
        self.attempts = 1
        """The number of attempts that a model has made."""
        self.wrote = False
        """True if an edit succeeded."""

    @property
    def text(self) -> str:
        """The text with all edits applied."""
        return self._text

    @property
    def base(self) -> str:
        """The text on disk to which the edits are applied."""
        return self._base

    @property
    def exists(self) -> bool:
        """True if the file exists on disk or has been edited in this draft."""
        return self._before is not None or bool(self._edits)

    @property
    def before(self) -> bytes | None:
        """The bytes on disk to which the edits are applied; None if there is no file."""
        return self._before

    @property
    def after(self) -> bytes:
        """The edited text in UTF-8."""
        return self._text.encode("utf-8")

    @property
    def changed(self) -> bool:
        """True if the edited text differs from the text on disk."""
        return self._text != self._base

    def refresh(self) -> None:
        """Read the file again and, if it has changed, apply the edits to the new version.

        Raises `StoreError` if an edit no longer applies; the draft is then the file on disk, without edits.
        """
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
                raise self.refused(
                    "The file changed meanwhile, and the earlier change no longer fits.",
                    "Read the file again, then make the change again if it is still needed.",
                ) from None
        self._text, self._edits = text, edits

    def edit(self, edit: Edit) -> None:
        """Refresh the draft, apply one edit and record it.

        Raises `StoreError` if the edit does not apply, makes the text too long or adds a secret.
        """
        self.refresh()
        text = edit(self._text)
        if len(text) > len(self._text):
            self._require_room(text)
        if not _secrets(text) <= _secrets(self._base):
            raise self.refused(
                "new_string holds a key, password or token.",
                f"Write it down without; {self.name} must hold no secrets.",
            )
        self._text = text
        self._edits.append(edit)
        self.wrote = True

    def replace(self, old: str, new: str, count: int = 1) -> None:
        """Replace `old` by `new` in the draft, `count` times, and record the edit; see `replaced`."""
        self.edit(partial(self.replaced, old=old, new=new, count=count))

    @classmethod
    def replaced(cls, text: str, old: str, new: str, count: int = 1) -> str:
        """Return `text` with `count` occurrences of `old` replaced by `new`, or all if `count` is `ALL`.

        `new` is inserted literally, with the line endings of `text`. An empty `old` fills an empty file.
        Raises `StoreError` if `old` occurs less often, or several times although `count` is 1.
        """
        if count != ALL and count < 1:
            raise cls.refused("replace_count must be a positive number, or -1 for every occurrence.")
        if not old:
            if count != 1:
                raise cls.refused("An empty old_string goes with replace_count 1 only.")
            if text:
                raise cls.refused(
                    "An empty old_string is for an empty file only.", "Set old_string to the text to replace."
                )
            return new
        if old not in text:
            newline = "\r\n" if "\r\n" in text else "\n"
            old, new = (part.replace("\r\n", "\n").replace("\n", newline) for part in (old, new))
        found = text.count(old)
        if not found:
            raise cls.refused(
                f"old_string is not in {cls.name}.", "Copy the text exactly as it stands in the file."
            )
        if count == 1 and found > 1:
            raise cls.refused(
                f"old_string stands {found} times in {cls.name}.",
                "Make it longer until it is unique, or replace more than one occurrence.",
            )
        if count > found:
            raise cls.refused(
                f"replace_count is {count}, but old_string stands there {found} times only.",
                "Give a smaller replace_count, or -1 for every occurrence.",
            )
        return text.replace(old, new, count)

    @classmethod
    def refused(cls, cause: str, next_step: str = "") -> StoreError:
        """Return the error for an edit that is refused because of `cause`, a sentence."""
        return StoreError("Nothing was written.", cause=cause, next_step=next_step, reason=cls.reason)

    def follow_up(self, _text: str) -> str | None:
        """Return the message that starts the model's next attempt; None if it gets no further attempt."""
        message = self.reminder() if self.attempts < MAX_ATTEMPTS else ""
        self.attempts += bool(message)
        return message or None

    @abstractmethod
    def tools(self) -> tuple[Tool, ...]:
        """Return the tools by which a model edits the draft."""

    @abstractmethod
    def reminder(self) -> str:
        """Return a message that reminds the model of its unfinished work; empty if there is none."""

    @abstractmethod
    def _require_room(self, text: str) -> None:
        """Raise `StoreError` if `text` is longer than the file may be."""

    def _decoded(self, data: bytes | None) -> str:
        """Decode the bytes on disk, or return the initial text for a missing file (None).

        Raises `StoreError`.
        """
        try:
            return self.template if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(
                f"Reverie does not rewrite {self.name}.",
                cause="The file contains bytes that are not text (invalid UTF-8).",
                next_step="Convert it to UTF-8 with another program, then try again.",
                reason="not-text",
            ) from None


def _secrets(text: str) -> set[str]:
    return {text[secret.start : secret.end] for secret in find_secrets(text)}
