"""One person types into a file while somebody else rewrites it: random, from a seed, on a real file.

Everything either of them writes carries a word of its own, so that a ledger can tell what became of it. After
every step: each word of theirs that is on disk stands in the text, or in a conflict that is shown, or the
person took it away by an own act (deleted it, or decided against it). And no word of the person leaves the
text unless the person deletes, undoes or decides.

The open file, its document, its undo stack and `Buffers` are the real ones; only lanes and workbench are
stand-ins that work at once.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reverie.agents.scopes import ScopeContext
from reverie.engine.asking import Request
from reverie.errors import Conflict, StoreError
from reverie.services.views import FileText, file_text
from reverie.ui.editor.buffer import Address, FileRef

WORD = re.compile(r"[mt]\d+_")
ROUNDS_PER_FILE = 25
_PATH = "/memories/global/a.md"


@dataclass
class Tally:
    """What happened, and every broken promise."""

    rounds: int = 0
    events: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"{self.rounds} rounds of one person typing and another rewriting the same file",
            ", ".join(f"{name} {count}" for name, count in sorted(self.events.items())),
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


async def _awaited(work: Any) -> Any:
    begun = work if isinstance(work, Request) else work(None)
    return await begun if isinstance(begun, Request | Coroutine) else begun


def done_at_once(work: Any) -> Any:
    """What a job finds that asks nobody far away."""
    job, found, ends = _awaited(work), None, list[tuple[Any, BaseException | None]]()
    while True:
        try:
            request = job.send(found)
        except StopIteration as end:
            return end.value
        request.post(lambda value, error: ends.append((value, error)))
        found, error = ends.pop()
        if error is not None:
            raise error


class _AtOnce:
    """A lane whose jobs are over when they are submitted."""

    def submit(self, _name: str, work: Any, *, done: Any, failed: Any = None, **_others: Any) -> None:
        try:
            found = done_at_once(work)
        except (Conflict, StoreError) as error:
            failed(error)
        else:
            done(found)


class LateLane(_AtOnce):
    """A lane that compares versions only when it is told to; a newer job replaces the older of its group."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Any, Any]] = []

    def submit(self, name: str, work: Any, *, done: Any, failed: Any = None, **others: Any) -> None:
        if name != "compare versions":
            super().submit(name, work, done=done, failed=failed)
            return
        group = others["group"]
        self.waiting = [job for job in self.waiting if not group or job[0] != group]
        self.waiting.append((group, work, done))

    def deliver(self) -> int:
        """Do all that waits, also what begins meanwhile, and give the number of jobs."""
        count = 0
        while self.waiting:
            _group, work, done = self.waiting.pop(0)
            done(done_at_once(work))
            count += 1
        return count


class _Desk:
    """Reads the file and saves it by compare-and-swap."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self, _context: object, path: str) -> FileText:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            raise StoreError("There is no such file.", reason="missing") from None
        return file_text(path, data, mtime_ns=1, cap=None)

    def save(self, context: object, path: str, content: str, expected: str | None) -> FileText:
        now = hashlib.sha256(self._file.read_bytes()).hexdigest() if self._file.exists() else None
        if now != expected:
            raise Conflict("It is another file by now.")
        self._file.write_bytes(content.encode())
        return self.read(context, path)

    def author_of(self, *_file: object) -> str:
        return ""


class CoTypists:
    """One file, both of its writers, and the ledger."""

    def __init__(
        self, seed: int, directory: Path, tally: Tally, theme: Any, lane: _AtOnce | None = None
    ) -> None:
        from reverie.ui.editor.buffers import Buffers

        self.keep_ledger(seed, directory / "a.md", tally)
        self.session: Any = SimpleNamespace(
            info=SimpleNamespace(id="home"),
            lanes=SimpleNamespace(scan=lane or _AtOnce()),
            workbench=_Desk(self.path),
        )
        self.buffers = Buffers(theme)
        ref = FileRef.memory("home", "global", "a.md")
        self.buffers.open(self.session, ref, Address(ScopeContext("w", "/p"), _PATH))
        found = self.buffers.get(ref)
        assert found is not None
        self.file = found

    def keep_ledger(self, seed: int, path: Path, tally: Tally) -> None:
        """A file to begin with, and nothing known of anybody's words."""
        self.random = random.Random(seed)
        self.tally = tally
        self.seed = seed
        self.path = path
        self.words = 0
        self.dismissed: set[str] = set()
        self.once_dismissed: set[str] = set()
        self.doubled: set[str] = set()
        self.unsaved: set[str] = set()
        self.path.write_bytes(self._beginning())

    def close(self) -> None:
        self.buffers.discard(self.file)
        self.buffers.deleteLater()

    # One round

    def round(self) -> None:
        """Some typing, a version of theirs, a look at the disk, perhaps a decision or a save."""
        for _ in range(self.random.randint(0, 3)):
            self._step(self.random.choices((self.type, self.cut, self.undo, self.redo), (6, 2, 2, 1))[0])
        self._step(self.write_theirs)
        self._step(self.random.choices((self.look, self.save, self.undo, self.type), (7, 2, 1, 1))[0])
        for _ in range(self.random.randint(0, 2)):
            acts = (self.decide, self.undo, self.redo, self.save, self.type, self.take_back, self.all_at_once)
            self._step(self.random.choices(acts, (6, 2, 1, 3, 2, 1, 0.4))[0])
        if self.random.random() < 0.3:
            while self.file.conflicts:
                self._step(self.decide)
            self._step(self.save)
        self.tally.rounds += 1

    def _step(self, act: Any) -> None:
        before = set(WORD.findall(self.file.text))
        act()
        self.tally.events[act.__name__.replace("_", " ")] += 1
        self._check(act.__name__, before)

    def _check(self, act: str, before: set[str]) -> None:
        file = self.file
        words = Counter(WORD.findall(file.text))
        text = set(words)
        # Kept on both sides of a conflict: of two copies nobody can say which one was taken away.
        self.doubled |= {word for word, count in words.items() if count > 1}
        self.once_dismissed |= self.dismissed
        self.dismissed -= text  # brought back, by undo or from outside
        where = f"seed {self.seed}, round {self.tally.rounds}, {act}: "
        disk = file.buffer.disk
        shown = {word for each in file.conflicts for line in each.theirs for word in WORD.findall(line)}
        asked_in_whole = file.buffer.banner == "conflict" and not file.conflicts
        if disk is not None and not asked_in_whole:
            lost = {word for word in WORD.findall(disk.content) if word.startswith("t")}
            lost -= text | shown | self.dismissed | self.doubled
            if lost:
                self.tally.problems.append(f"{where}theirs is nowhere: {sorted(lost)}")
        if act in ("look", "save", "write_theirs"):
            gone = (self.unsaved & before) - text
            if gone:
                self.tally.problems.append(f"{where}typed words are gone: {sorted(gone)}")
        if file.conflicts:
            self.tally.events["conflicts shown"] += 1
            if file.buffer.banner != "conflict" or not file.buffer.modified:
                self.tally.problems.append(f"{where}a conflict without a banner")
        elif file.buffer.banner == "" and disk is not None and file.buffer.base != disk:
            self.tally.problems.append(f"{where}no conflict, and the text grew from another version")
        if (
            not file.buffer.modified
            and disk is not None
            and file.display != "cut"
            and file.content != disk.content
        ):
            self.tally.problems.append(f"{where}called unmodified, and is not what is on disk")

    # The person

    def type(self) -> None:
        if self.file.read_only:
            return
        word = self._word("m")
        cursor, before = self._cursor(), set(WORD.findall(self.file.text))
        cursor.insertText(
            self.random.choice((word, f"{word}\n", f"\n{word}", f"\n{word}\n", f"{word} é\U0001f600"))
        )
        self.unsaved.add(word)
        self.dismissed |= before - set(WORD.findall(self.file.text))  # it was typed into a word
        self._typed()

    def cut(self) -> None:
        if self.file.read_only:
            return
        from PySide6.QtGui import QTextCursor

        cursor = self._cursor()
        before = set(WORD.findall(self.file.text))
        last = self.file.document.characterCount() - 1
        to = self._whole(min(last, cursor.position() + self.random.randint(1, 25)))
        cursor.setPosition(to, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self.dismissed |= before - set(WORD.findall(self.file.text))
        self._typed()

    def undo(self) -> None:
        before = set(WORD.findall(self.file.text))
        self.file.document.undo()
        # An undone reload gives the text in which the person had taken it away.
        self.dismissed |= (before - set(WORD.findall(self.file.text))) & self.once_dismissed
        self._typed()

    def redo(self) -> None:
        before = set(WORD.findall(self.file.text))
        self.file.document.redo()
        # What a redo takes away was taken away before, by the same person.
        self.dismissed |= before - set(WORD.findall(self.file.text))
        self._typed()

    def decide(self) -> None:
        if not self.file.conflicts:
            return
        index = self.random.randrange(len(self.file.conflicts))
        conflict, side = self.file.conflicts[index], self.random.choice(("mine", "theirs", "both"))
        self.file.decide(index, side)  # type: ignore[arg-type]
        self.settle()
        if side == "mine":
            self._dismiss(conflict.theirs)
        elif side == "theirs":
            self._dismiss(conflict.mine)

    def take_back(self) -> None:
        self.file.take_back()

    def all_at_once(self) -> None:
        """The buttons of the banner."""
        buffer = self.file.buffer
        if buffer.banner != "conflict" or buffer.disk is None:
            return
        if self.random.random() < 0.5:
            before = WORD.findall(self.file.text)
            self.buffers.take_theirs(self.file)
            self.settle()
            self.dismissed.update(before)
        elif not buffer.disk.read_only:
            self.buffers.keep_mine(self.file)
            self._dismiss([buffer.disk.content])

    def save(self) -> None:
        buffer = self.file.buffer
        if not buffer.modified and not buffer.banner:
            return
        if buffer.banner in ("deleted", "gone"):
            self.buffers.keep_mine(self.file)
        text, on_disk = self.file.content, self.path.read_bytes() if self.path.exists() else b""
        self.buffers.save(self.file)
        self.settle()
        now = self.path.read_bytes() if self.path.exists() else b""
        if now != on_disk:
            self.tally.events["saved"] += 1
            self.unsaved.clear()
            kept = set(WORD.findall(now.decode())) | self.dismissed | self.doubled
            lost = {word for word in WORD.findall(on_disk.decode()) if word.startswith("t")} - kept
            if lost or now != text.encode() or self.file.conflicts:
                self.tally.problems.append(f"seed {self.seed}: a save wrote over {sorted(lost)}")

    def look(self) -> None:
        """The watcher has told."""
        self.buffers._read(self.session, self.file)

    def settle(self) -> None:
        """Wait for what was begun; here it is over at once."""

    def _typed(self) -> None:
        self.file.recheck()

    def _dismiss(self, lines: Any) -> None:
        gone = {word for line in lines for word in WORD.findall(line)}
        self.dismissed |= gone - set(WORD.findall(self.file.text))

    def _cursor(self) -> Any:
        from PySide6.QtGui import QTextCursor

        cursor = QTextCursor(self.file.document)
        # At a line's edge more often than not: that is where changes touch.
        block = self.file.document.findBlockByNumber(self.random.randrange(self.file.document.blockCount()))
        inside = self.random.choice((0, block.length() - 1, self.random.randrange(block.length())))
        cursor.setPosition(self._whole(block.position() + inside))
        return cursor

    def _whole(self, position: int) -> int:
        """No caret stands between the halves of one character."""
        inside = "\udc00" <= self.file.document.characterAt(position) <= "\udfff"
        return position + inside

    # The other one

    def write_theirs(self) -> None:
        data = self.path.read_bytes() if self.path.exists() else b""
        lines = re.split(rb"(?<=\n)", data)
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            at = self.random.randrange(len(lines) + 1)
            what = self.random.random()
            if what < 0.55:
                lines.insert(at, self._their_line())
            elif what < 0.7:
                del lines[at : at + self.random.randint(1, 3)]
            elif what < 0.8 and at < len(lines):
                lines.insert(self.random.randrange(len(lines)), lines.pop(at))
            elif at < len(lines):
                lines[at] = self._their_line()
        data = b"".join(lines)
        odd = self.random.random()
        if odd < 0.04:
            self.path.unlink(missing_ok=True)
            self.tally.events["deleted"] += 1
            return
        if odd < 0.07:
            data += b"\xff"
        elif odd < 0.12:
            data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        elif odd < 0.17:
            data = data.replace(b"\r\n", b"\n")
        elif odd < 0.2:
            data = (
                data.removeprefix(b"\xef\xbb\xbf")
                if data.startswith(b"\xef\xbb\xbf")
                else b"\xef\xbb\xbf" + data
            )
        elif odd < 0.26:
            data = data.rstrip(b"\r\n")
        elif odd < 0.3:
            data = data.replace(b"\xff", b"")
        new = self.path.with_suffix(".new")
        new.write_bytes(data)
        new.replace(self.path)

    def _their_line(self) -> bytes:
        word = self._word("t").encode()
        long = b"x" * 20_000 if self.random.random() < 0.01 else b""
        return word + long + self.random.choice((b"\n", b"\n", b"\r\n", b" and more\n"))

    def _word(self, who: str) -> str:
        self.words += 1
        return f"{who}{self.words}_"

    def _beginning(self) -> bytes:
        lines = [
            self.random.choice(("", "# Head", "- item", "text", "```"))
            for _ in range(self.random.randint(0, 12))
        ]
        end = self.random.choice(("\n", "\n", "\r\n"))
        return (end.join(lines) + self.random.choice(("", end))).encode()


def run_co_typists(directory: Path, rounds: int, seed: int) -> Tally:
    """`rounds` rounds, a new file now and then; less, if a promise is broken. Needs an application."""
    from PySide6.QtGui import QPalette

    from reverie.ui.appearance import theme_of

    tally, number = Tally(), 0
    while tally.rounds < rounds:
        pair = CoTypists(seed + number, directory, tally, theme_of(QPalette()))
        for _ in range(min(ROUNDS_PER_FILE, rounds - tally.rounds)):
            pair.round()
            if tally.problems:
                return tally
        pair.close()
        number += 1
    return tally
