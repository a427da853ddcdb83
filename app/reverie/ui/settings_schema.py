"""Every setting by its type, its default and its limits, as `settings.Settings` says them: what the dialog
shows, generates and searches. Pure, without Qt.

A setting that is added there is found here by itself; the tests compare both, and ask for an explanation.
Threading: `schema` imports what is heavy, so jobs call it; the rest is for any thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from reverie.settings import Settings

Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]
ANY = "*"
"""Stands in a key for a name that people choose."""


@dataclass(frozen=True, slots=True)
class Setting:
    """`key`: as in `config.toml`, with dots (`dream.engine`, `providers.*.wire`). `least`, `most`: of
    numbers; `choices`: of a choice; `pattern`: of a text, empty for any."""

    key: str
    kind: Kind
    default: Any
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    pattern: str = ""

    @property
    def last(self) -> str:
        """Its own name within its table."""
        return self.key.rpartition(".")[2]

    @property
    def where(self) -> str:
        """As a person looks for it in `config.toml`: `[dream] engine`."""
        return where(self.key)


def where(key: str) -> str:
    """`dream.engine` as `[dream] engine`; a name that people choose as `NAME`."""
    table, _, last = key.replace(ANY, "NAME").rpartition(".")
    return f"[{table}] {last}"


def schema() -> tuple[Setting, ...]:
    """Every setting of this version, in the order of the file."""
    from reverie.settings import Settings

    return tuple(_of_section(Settings))


def values_of(settings: Settings) -> dict[str, Any]:
    """The value of every setting that is in no table of names, by its key."""
    return {
        f"{section}.{name}": value
        for section, values in settings.model_dump().items()
        for name, value in values.items()
        if section not in _tables(type(settings))
    }


def _tables(kind: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if _entry(field) is not None)


def _of_section(kind: type[BaseModel], name: str = "") -> Iterator[Setting]:
    from pydantic import BaseModel

    for own, field in kind.model_fields.items():
        key, inner = f"{name}{own}", field.annotation
        entry = _entry(field)
        if entry is not None:
            yield from _of_section(entry, f"{key}.{ANY}.")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _of_section(inner, f"{key}.")
        else:
            yield _setting(key, field)


def _entry(field: FieldInfo) -> type[BaseModel] | None:
    """What each entry of a table of names is; None for another field."""
    from pydantic import RootModel

    inner = field.annotation
    if not (isinstance(inner, type) and issubclass(inner, RootModel)):
        return None
    found: type[BaseModel] = get_args(inner.model_fields["root"].annotation)[1]
    return found


def _setting(key: str, field: FieldInfo) -> Setting:
    inner, default = field.annotation, field.default
    if inner is bool:
        return Setting(key, "switch", default)
    if get_origin(inner) is Literal:
        return Setting(key, "choice", default, choices=get_args(inner))
    if inner in (int, float):
        least, most = (_said(field, name) for name in ("ge", "le"))
        return Setting(key, "whole" if inner is int else "decimal", default, least, most)
    if get_origin(inner) is dict:
        return Setting(key, "pairs", default)
    if inner is str:
        return Setting(key, "text", default, pattern=_said(field, "pattern"))
    raise TypeError(f"{key} is of a kind that the window cannot show: {inner}")


def _said(field: FieldInfo, name: str) -> Any:
    """A limit that the type names."""
    return next(getattr(each, name) for each in field.metadata if getattr(each, name, None) is not None)
