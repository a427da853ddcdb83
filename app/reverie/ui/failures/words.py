"""What the Failures tab says: rows and details of lessons, anti-patterns and crashes. Pure; texts from disk
are made safe to draw here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from reverie.failures.crash import Crash, CrashGroup
from reverie.homes.loki_records import AntiPattern, text_of
from reverie.homes.loki_text import rendered
from reverie.services.failures import FailuresView, LessonView, Repeated, Standing
from reverie.ui import words
from reverie.ui.shown import visible, visible_lines
from reverie.ui.translation import counted, tr
from reverie.ui.translation import translatable as _
from reverie.ui.two_lines import TwoLines

PartKey = Literal["lessons", "avoid", "crashes"]
_SHOWN_CRASHES = 50
_SHOWN_FINGERPRINT = 12


_STANDINGS: dict[Standing, str] = {
    "told": _("told now"),
    "window": _("not told: only the newest are"),
    "older": _("not told any more: older than a day"),
    "elsewhere": _("not told: in a namespace"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a part. `what`: what it is about; None is the block."""

    key: str
    look: TwoLines
    what: LessonView | Repeated | AntiPattern | CrashGroup | None

    @property
    def spoken(self) -> str:
        """As it is read aloud."""
        return ", ".join(text for text in (self.look.title, self.look.right, self.look.below) if text)


def headline(view: FailuresView) -> str:
    """What the agent is told, in a few words."""
    if not view.lessons:
        return tr("Nothing has failed here")
    if not view.told:
        return tr("No lesson is told now")
    return counted("1 lesson is told now", "%n lessons are told now", len(view.told))


def state(view: FailuresView) -> str:
    """The switch, the store's own settings, and what could not be read."""
    said = [
        tr("LOKI_FAILURE_MEMORY is on in this environment: failed iterations are told to the next one.")
        if view.on
        else tr("LOKI_FAILURE_MEMORY is 0 in this environment: nothing is told, nothing is recorded.")
    ]
    if not view.recorded:
        said.append(tr("The settings of the store stop the recording of episodes."))
    if view.difference:
        said.append(visible(view.difference))
    if view.problems:
        said.append(counted("1 record cannot be read.", "%n records cannot be read.", len(view.problems)))
    return " ".join(said)


def part_title(key: PartKey, view: FailuresView) -> str:
    """With how many there are."""
    titles: dict[PartKey, tuple[str, int]] = {
        "lessons": (tr("Lessons"), len(view.lessons)),
        "avoid": (tr("Anti-patterns"), len(view.anti_patterns)),
        "crashes": (tr("Crashes"), sum(len(group.crashes) for group in view.crashes)),
    }
    title, count = titles[key]
    return f"{title} · {count:,}"


def rows(key: PartKey, view: FailuresView, goal: str, now: int) -> tuple[Row, ...]:
    """The rows of one part. `now` in ms."""
    if key == "lessons":
        return tuple(_lesson_rows(view, goal, now))
    if key == "avoid":
        return tuple(_pattern_rows(view, goal))
    return tuple(_crash_row(group, view, now) for group in view.crashes)


def _lesson_rows(view: FailuresView, goal: str, now: int) -> Iterator[Row]:
    if view.lessons:
        priors = view.priors(goal)
        below = counted("1 lesson", "%n lessons", len(view.told))
        if priors:
            below += " · " + counted("1 anti-pattern", "%n anti-patterns", len(priors))
        empty = not view.told and not priors
        look = TwoLines(
            tr("What the next iteration is told"),
            tr("nothing") if empty else below,
            quiet=empty,
            sign="preview",
        )
        yield Row("block", look, None)
    for each in view.lessons:
        lesson = each.lesson
        told = each.standing == "told"
        facts = [tr(_STANDINGS[each.standing])]
        if lesson.seen > 1:
            facts.append(seen(lesson.seen))
        if lesson.resolution:
            facts.append(tr("resolved: {text}").format(text=_short(lesson.resolution)))
        title = _short(lesson.line.removeprefix("- "))
        when = tr("unknown time") if lesson.at is None else words.age(now, lesson.at // 1000)
        look = TwoLines(
            title or tr("an error without words"),
            " · ".join(facts),
            when,
            quiet=not told,
            sign="check" if told else "",
        )
        yield Row(lesson_key(each), look, each)


def _pattern_rows(view: FailuresView, goal: str) -> Iterator[Row]:
    for group in view.repeated:
        first = group.records[0]
        count = counted("1 record says the same", "%n records say the same", len(group.records))
        look = TwoLines(_short(text_of(first.get("pattern"))), count, tr("to merge"), sign="flag")
        yield Row(f"same {group.rel} {first.get('id')} {first.get('pattern')}", look, group)
    told = {id(each) for each in view.told_for(goal)}
    seen_ids: dict[str, int] = {}
    for each in view.anti_patterns:
        is_told = id(each) in told
        said = [tr("told for this goal")] if is_told else []
        said.append(_short(each.prevention or each.why) or tr("nothing is known that helps"))
        store = tr("older store") if each.legacy else ""
        look = TwoLines(
            _short(each.what_fails) or tr("an anti-pattern without words"),
            " · ".join(said),
            store,
            quiet=bool(goal.strip()) and not is_told,
            sign="check" if is_told else "",
        )
        turn = seen_ids[each.id] = seen_ids.get(each.id, 0) + 1  # an id may be there twice
        yield Row(f"avoid {each.id} {turn}", look, each)


def _crash_row(group: CrashGroup, view: FailuresView, now: int) -> Row:
    newest = group.newest
    facts = [seen(len(group.crashes))]
    lessons = len(view.lessons_of(group))
    if lessons:
        facts.append(counted("in 1 lesson", "in %n lessons", lessons))
    if newest.signature:
        facts.append(_short(" > ".join(newest.signature)))
    if group.fingerprint:
        facts.append(visible(group.fingerprint[:_SHOWN_FINGERPRINT]))
    at = newest.mtime_ns // 1_000_000 if newest.at is None else newest.at // 1000
    look = TwoLines(crash_name(newest), " · ".join(facts), words.age(now, at), sign="error")
    return Row(crash_key(group), look, group)


def lesson_key(view: LessonView) -> str:
    """The key of a lesson's row."""
    return f"{view.rel}:{view.lesson.index}"


def crash_key(group: CrashGroup) -> str:
    """The key of the row of a kind of crashes."""
    return f"crash {group.fingerprint or group.newest.path.name}"


def crash_name(crash: Crash) -> str:
    """What a crash is called."""
    return _short(crash.error_class) or _short(crash.friction) or tr("a crash without a class")


def seen(count: int) -> str:
    return counted("seen once", "seen %n times", count)


def detail(row: Row, view: FailuresView, goal: str) -> str:
    """Everything about what a row stands for, as text."""
    what = row.what
    if what is None:
        return visible_lines(view.block(goal)).strip("\n") or tr("Nothing is told.")
    if isinstance(what, LessonView):
        return _text(_lesson_lines(what, view))
    if isinstance(what, Repeated):
        head = counted("1 record says the same:", "%n records say the same:", len(what.records))
        return _text((head, "", *(records(what.records).splitlines())))
    if isinstance(what, CrashGroup):
        return _text(_crash_lines(what))
    return records((what.record,)) if not what.legacy else _text(_legacy_lines(what))


def records(found: Iterable[dict[str, Any]]) -> str:
    """Patterns in words, one below the other."""
    told = (
        rendered("semantic/patterns.json", json.dumps({"patterns": [record]}).encode()) for record in found
    )
    # Without the headings of the store.
    return visible_lines("\n\n".join((text or "").partition("## ")[2].strip() for text in told))


def _lesson_lines(view: LessonView, all_: FailuresView) -> Iterator[str]:
    lesson = view.lesson
    yield lesson.type or tr("an error without a type")
    yield from lesson.message.splitlines()
    yield ""
    resolution = lesson.resolution or tr("none yet; the agent never fills it")
    yield tr("Resolution: {text}").format(text=resolution)
    yield tr("In the block: {standing}").format(standing=tr(_STANDINGS[view.standing]))
    yield tr("Its line: {line}").format(line=lesson.line)
    when = tr("unknown time") if lesson.at is None else words.when(lesson.at // 1000)
    yield tr("When: {when}").format(when=when)
    for name, value in (
        (tr("Task"), lesson.task_id),
        (tr("Phase"), lesson.phase),
        (tr("Episode"), lesson.episode_id),
    ):
        if value:
            yield f"{name}: {value}"
    if lesson.fingerprint:
        yield tr("Fingerprint: {fingerprint}, {seen}").format(
            fingerprint=lesson.fingerprint, seen=seen(lesson.seen)
        )
    crash = all_.crash_of(lesson)
    if crash is not None:
        yield counted("1 crash record of this kind", "%n crash records of this kind", len(crash.crashes))
    yield tr("File: {path}").format(path=lesson.path)


def _crash_lines(group: CrashGroup) -> Iterator[str]:
    newest = group.newest
    yield crash_name(newest)
    yield seen(len(group.crashes))
    if newest.signature:
        yield ""
        yield tr("Stack:")
        yield from (f"  {frame}" for frame in newest.signature)
    yield ""
    told = {"stack_signature", "error_class"}
    for key, value in newest.record.items():
        if key not in told and value not in (None, "", [], {}):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{key.replace('_', ' ').capitalize()}: {shown}"
    yield ""
    yield tr("Records, newest first:")
    for crash in group.crashes[:_SHOWN_CRASHES]:
        at = crash.mtime_ns // 1_000_000 if crash.at is None else crash.at // 1000
        yield f"  {words.when(at)}  {crash.path.name}"
    more = len(group.crashes) - _SHOWN_CRASHES
    if more > 0:
        yield "  " + counted("1 more", "%n more", more)


def _legacy_lines(each: AntiPattern) -> Iterator[str]:
    yield each.what_fails or tr("an anti-pattern without words")
    yield ""
    for name, value in ((tr("Why"), each.why), (tr("Do"), each.prevention), (tr("Record"), each.id)):
        if value:
            yield f"{name}: {value}"
    yield tr("It stands in the older store, which nothing writes any more.")


def _text(lines: Iterable[str]) -> str:
    return visible_lines("\n".join(lines))


def _short(text: str) -> str:
    return visible(" ".join(text.split())[:400])
