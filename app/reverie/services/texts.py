"""Bytes of a file as the editor needs them. Pure."""

from __future__ import annotations

from reverie.memory.store import sha256_of_text
from reverie.services.views import FileText

_BOM = "\ufeff"


def file_text(path: str, data: bytes, *, mtime_ns: int, cap: int | None) -> FileText:
    """The text of a file, with the reason why it must not be written where there is one.

    Text that is not valid UTF-8 is decoded with U+FFFD for showing only; a file over the agent's cap is shown
    and stays as it is, since the agent refuses it too.
    """
    try:
        content, read_only = data.decode("utf-8"), ""
    except UnicodeDecodeError:
        content, read_only = (
            data.decode("utf-8", "replace"),
            "This file is not valid UTF-8 and is shown read-only.",
        )
    if not read_only and "\0" in content:
        read_only = "This file is not text and is shown read-only."
    if cap is not None and len(data) > cap:
        read_only = f"This file is over the agent's limit of {cap:,} bytes and is shown read-only."
    return FileText(
        path=path,
        content=content,
        sha256=sha256_of_text(content),
        read_only=read_only,
        size=len(data),
        mtime_ns=mtime_ns,
        newline="\r\n" if _mostly_crlf(content) else "\n",
        bom=content.startswith(_BOM),
    )


def _mostly_crlf(content: str) -> bool:
    return content.count("\r\n") * 2 > content.count("\n")
