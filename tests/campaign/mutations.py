"""Each promise of the design broken on purpose, in a copy of the program; which test caught it?

A mutation replaces a piece of source text in a copy that a child process runs instead of the program. Its
tests must fail then. One that nothing catches breaks the part; so does one whose text is not there any more.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_LONGEST_S = 600
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutation:
    """`promise` in short; `old` becomes `new` in `file`; `tests` are those that guard it."""

    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "a program that was not permitted can only read",
        "memory_server/tools.py",
        "if command in MUTATING and scope is not None and scope not in self._writable(program):",
        "if False:",
        ("tests/unit/memory_server/test_served_tools.py",),
    ),
    Mutation(
        "the memory server checks its token",
        "memory_server/serving.py",
        'if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):',
        "if False:",
        ("tests/unit/memory_server/test_serving.py",),
    ),
    Mutation(
        "a program gets no secret of a memory",
        "memory_server/tools.py",
        "hidden = self._vault.hide(text)",
        "hidden = text",
        ("tests/unit/memory_server/test_served_tools.py",),
    ),
    Mutation(
        "old or new, never a mix: what failed half-way is put back",
        "runs/transaction.py",
        "        for intent in reversed(intents):",
        "        for intent in ():",
        ("tests/unit/runs/test_transaction.py", "tests/unit/runs/test_recovery.py"),
    ),
    Mutation(
        "Codex's memory is never switched off: nothing is written into a version that is not there",
        "agents/codex/store.py",
        "    if is_directory(home / DIRECTORIES[version]):",
        "    if True:",
        ("tests/unit/agents/test_codex_versions.py",),
    ),
    Mutation(
        "what Codex would refuse is refused",
        "agents/codex/store.py",
        '    if text.partition("\\n")[0].removesuffix("\\r") != "v1":',
        "    if False:",
        ("tests/unit/agents/test_codex_versions.py",),
    ),
    Mutation(
        "every write into Codex's store takes Codex's lock",
        "memory/recording.py",
        "            held.enter_context(write_locks(self._home, (root,), lock_dir=self._lock_dir))",
        "            pass",
        ("tests/unit/agents/test_codex_versions.py",),
    ),
    Mutation(
        "old or new, never a mix: a kill is recovered from",
        "runs/transaction.py",
        "        if journal is None or journal.for_review:",
        "        if True:",
        ("tests/end2end/test_kills.py",),
    ),
    Mutation(
        "old or new, never a mix: a temporary file takes the place in one step",
        "files/atomic.py",
        "    directory.replace(temp, name)\n    return True",
        "    directory.remove(name)\n    directory.replace(temp, name)\n    return True",
        ("tests/unit/files/test_atomic.py",),
    ),
    Mutation(
        "no lock longer than its lease: a dead owner's is taken over",
        "files/lease.py",
        "now_ms < holder.expires_at_ms and is_alive(owner)",
        "True",
        ("tests/unit/files/test_lease.py",),
    ),
    Mutation(
        "no lost update between processes: the lock",
        "files/locks.py",
        "lambda: _try_lock(fd) or None",
        "lambda: True",
        ("tests/unit/files/test_lock.py", "tests/end2end/test_counters.py"),
    ),
    Mutation(
        "no lost update towards agents: a save compares",
        "memory/store.py",
        "                if sha256_of_bytes(current) != expected_sha256:",
        "                if False:",
        ("tests/unit/memory/test_last_moment.py",),
    ),
    Mutation(
        "no lost update towards agents: a delete looks at what it took",
        "memory/store.py",
        "if not same or taken_content != content:",
        "if False:",
        ("tests/unit/memory/test_last_moment.py",),
    ),
    Mutation(
        "nothing is lost: what a run replaces is in the history before",
        "memory/recording.py",
        "        if unseen:",
        "        if False:",
        ("tests/unit/jobs/consolidate/test_service.py",),
    ),
    Mutation(
        "no lost update towards agents: the swap looks at what it replaced",
        "files/atomic.py",
        "accepted = directory.read(temp) == current",
        "accepted = True",
        ("tests/unit/files/test_atomic.py",),
    ),
    Mutation(
        "no lost update: a run compares before each replace",
        "runs/transaction.py",
        "            if sha256_of_bytes(current) != expected:",
        "            if False:",
        ("tests/unit/runs/test_transaction.py",),
    ),
    Mutation(
        "no path leaves its root: links that lead out",
        "files/rooted.py",
        "    if not os.path.normcase(real).startswith(os.path.normcase(inside)):",
        "    if False:",
        ("tests/unit/files/test_rooted.py",),
    ),
    Mutation(
        "no path leaves its root: a link swapped in under way",
        "files/directory.py",
        '_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)',
        "_NOFOLLOW = 0",
        ("tests/unit/files/test_rooted.py", "tests/unit/files/test_directory.py"),
    ),
    Mutation(
        "a model that hangs ends in a failed run",
        "runs/stops.py",
        "        if self._enforce_deadline and time.monotonic() > self.deadline:",
        "        if False:",
        ("tests/unit/runs/test_limits.py",),
    ),
    Mutation(
        "a model that floods ends in a failed run",
        "llm/loop.py",
        "        if left <= 0:",
        "        if False:",
        ("tests/unit/llm/test_loop.py",),
    ),
    Mutation(
        "a model that sends broken JSON is answered, and nothing runs",
        "llm/loop.py",
        "arguments = decode_arguments(call.arguments)",
        "arguments = {}",
        ("tests/unit/llm/test_loop.py",),
    ),
    Mutation(
        "a model that calls unknown tools is answered, and nothing runs",
        "llm/loop.py",
        "raise unknown_tool(call.name, list(self._tools.values()))",
        "tool = next(iter(self._tools.values()))",
        ("tests/unit/llm/test_loop.py",),
    ),
    Mutation(
        "a model that dies mid-stream has not answered",
        "llm/wire_chat.py",
        "        return self._finish is not None or self.ended",
        "        return True",
        ("tests/unit/llm/test_openai.py", "tests/unit/llm/test_transport.py"),
    ),
    Mutation(
        "a failed run has a trace that says so",
        "llm/loop.py",
        "        self._trace.end(end.outcome, self._usage, end.error)",
        "        pass",
        ("tests/unit/llm/test_loop.py",),
    ),
    Mutation(
        "keys never reach a trace: a service that says its key",
        "llm/remote_provider.py",
        'text = text.replace(secret, "[key]")',
        "text = text.replace(secret, secret)",
        ("tests/unit/llm/test_transport.py",),
    ),
    Mutation(
        "a failed run leaves no coverage record",
        "runs/transaction.py",
        "            check()\n            commit()",
        "            commit()\n            check()",
        ("tests/unit/runs/test_transaction.py",),
    ),
    Mutation(
        "a vanished root is unavailable, not a thousand deletions",
        "memory/listing.py",
        "        if available():",
        "        if True:",
        ("tests/unit/memory/test_listing.py",),
    ),
    Mutation(
        "keys and secrets never reach a log or a trace",
        "text/redact.py",
        "        secrets = find_secrets(text)\n",
        "        secrets = ()\n",
        ("tests/unit/text/test_redact.py", "tests/unit/llm/test_trace.py"),
    ),
    Mutation(
        "secrets in memories never reach a request",
        "llm/vault.py",
        "            return self.scrub(text)\n        return self.scrub(self._with_tokens",
        "            return text\n        return self.scrub(self._with_tokens",
        ("tests/unit/llm/test_vault.py",),
    ),
    Mutation(
        "reverting gives back every byte",
        "runs/revert.py",
        "current, becomes, intent.mode)",
        'current, (becomes or b"") + b" ", intent.mode)',
        ("tests/unit/runs/test_revert.py",),
    ),
    Mutation(
        "reverting keeps what people changed since",
        "runs/revert.py",
        "    return merge.content\n",
        "    return wanted\n",
        ("tests/unit/runs/test_revert.py",),
    ),
    Mutation(
        "every change in the history: the bytes before a run",
        "memory/history/history.py",
        "        if tree is not None and (last is None or tree != last.tree):",
        "        if False:",
        ("tests/unit/memory/test_history.py",),
    ),
)


def run(directory: Path) -> tuple[list[str], bool]:
    """Each mutation with the first test that caught it; kept when each was caught."""
    told, kept = [], True
    for number, mutation in enumerate(MUTATIONS):
        caught = _caught(directory / str(number), mutation)
        kept = kept and bool(caught)
        told.append(f"{mutation.promise}: {caught or 'NOT CAUGHT'}")
    return told, kept


def _caught(place: Path, mutation: Mutation) -> str:
    """The first test that fails with it; empty where none does."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "app", place / "app", ignore=ignore)
    (place / "resources").symlink_to(ROOT / "resources")
    file = place / "app" / "reverie" / mutation.file
    text = file.read_text("utf-8")
    if mutation.old not in text:
        return ""
    file.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    # Directories of its own: another run of the suite must not clear them away.
    own = ("-p", "no:cacheprovider", f"--basetemp={place / 'tmp'}")
    command = [sys.executable, "-m", "pytest", "-q", "-x", *own, *mutation.tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(place / "app"), str(ROOT / "tests")))}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return "its tests never end"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    found = _FAILED.search(done.stdout)
    if done.returncode == 1 and found is not None:
        return found[1].removeprefix("tests/")
    return ""
