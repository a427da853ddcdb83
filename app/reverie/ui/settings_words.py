"""What the settings say about themselves: an explanation of each, and the labels of those whose fields are
generated. By the keys of the schema; a test asks for each. Pure."""

from __future__ import annotations

from typing import Any

from reverie.ui.settings_schema import Setting
from reverie.ui.translation import tr
from reverie.ui.translation import translatable as _

HELP: dict[str, str] = {
    "watch.quiet_ms": _(
        "Changes on disk are shown once nothing has changed for so long. From the next start."
    ),
    "watch.cap_ms": _("But after so long in any case, while files go on changing. From the next start."),
    "watch.reconcile_minutes": _("Everything is compared with the disk this often; 0: never."),
    "watch.polling": _(
        "Folders are looked through again and again, instead of the system telling what changed."
    ),
    "dream.engine": _(
        "Who consolidates: fixed rules, one model, or the agent's own model where it can be reached. "
        "A model is sent memories: they go to its provider."
    ),
    "dream.time_limit_s": _("A consolidation that takes longer is stopped, and changes nothing."),
    "dream.max_loss_percent": _("A run that would lose more of a scope's lines waits for your review."),
    "history.pack_after": _("The history is packed once it has so many loose objects."),
    "providers.*.wire": _(
        "What the service speaks: chat completions or responses of OpenAI, or messages of Anthropic."
    ),
    "providers.*.base_url": _("Where the service is, up to where the path of its interface begins."),
    "providers.*.headers": _("Sent with every request. Values are secret: they are kept, and never shown."),
    "providers.*.key_env": _("The environment variable that holds the key; empty: the usual one."),
    "providers.*.timeout_s": _(
        "The longest silence of the service; 0: two minutes, and ten of one on this machine."
    ),
    "providers.*.max_retries": _("So often a request is made again that failed on its way."),
    "background.*.enabled": _("Consolidation by itself, in this home only; off until you switch it on."),
    "background.*.runs_per_day": _("Background runs in any 24 hours; 0 allows none."),
    "background.*.tokens_per_day": _(
        "Once background runs have used up so many in 24 hours, no more are started; 0 allows none."
    ),
    "system1.enabled": _(
        "The memory writer: after every so many turns it updates the memory of the project."
    ),
    "system1.interval": _(
        "Finished turns of the assistant between two runs; what the agent says counts first."
    ),
    "system1.target": _(
        "The one file that the agent keeps for each project, or a memory in its project scope."
    ),
    "system1.model": _("Empty: the model of the conversation, else the agent's default, else rules."),
    "system1.time_limit_s": _("A run that takes longer is stopped, and comes again at the next turn."),
    "system1.traces": _("A trace shows each step of a run, in the Traces tab."),
    "system1.keep_count": _("Older traces are removed, but only those that Reverie wrote."),
    "system1.keep_bytes": _("Once all traces are larger, the oldest that Reverie wrote are removed."),
    "notes.enabled": _("One file of notes for each session of Claude Code, kept up to date by thresholds."),
    "notes.model": _("Empty: the agent's own model where it can be reached, else rules."),
    "notes.start_tokens": _("Notes begin once the context of a session is so large."),
    "notes.growth_tokens": _("By so much the context has to grow between two updates."),
    "notes.tool_calls": _("So many tool calls make an update due; the end of an answer does as well."),
    "notes.time_limit_s": _("An update that takes longer is stopped, and leaves the notes as they were."),
    "extract.at_launch": _("Codex: new rollouts are extracted when the background services start."),
    "extract.model": _("Empty: what a consolidation would use."),
    "extract.max_rollouts": _("The others come the next time."),
    "extract.concurrency": _("So many rollouts are read at the same time."),
    "extract.idle_seconds": _("A rollout that changed within this time is still in use, and left alone."),
    "extract.time_limit_s": _("For each rollout, and for each directory."),
    "window.font_size": _("Of everything in the window."),
    "window.language": _("From the next start on."),
    "window.theme": _("Light, dark, or whatever the system shows."),
    "window.editor_wrap": _(
        "Long lines are broken where the editor ends. From the next start; the View menu at once."
    ),
    "window.editor_line_numbers": _(
        "Beside the text of the editor. From the next start; the View menu at once."
    ),
    "window.editor_zoom": _(
        "Points by which the text of the editor is larger. From the next start; the View menu at once."
    ),
}
LABELS: dict[str, str] = {
    "watch.quiet_ms": _("Show changes after quiet of"),
    "watch.cap_ms": _("Show changes at the latest after"),
    "watch.reconcile_minutes": _("Compare with the disk every"),
    "watch.polling": _("Look through folders"),
    "history.pack_after": _("Pack the history at"),
    "extract.concurrency": _("Codex: rollouts read at once"),
    "providers.*.wire": _("Interface"),
    "providers.*.headers": _("Headers"),
    "providers.*.key_env": _("Variable of the key"),
    "providers.*.timeout_s": _("Longest silence"),
    "providers.*.max_retries": _("Try again"),
    "window.editor_wrap": _("Break long lines in the editor"),
    "window.editor_line_numbers": _("Line numbers in the editor"),
    "window.editor_zoom": _("Text of the editor larger by"),
}
_UNITS: dict[str, str] = {
    "watch.quiet_ms": _(" ms"),
    "watch.cap_ms": _(" ms"),
    "watch.reconcile_minutes": _(" min"),
    "history.pack_after": _(" objects"),
    "providers.*.timeout_s": _(" s"),
    "providers.*.max_retries": _(" times"),
    "window.editor_zoom": _(" pt"),
}
_ZEROS: dict[str, str] = {
    "watch.reconcile_minutes": _("never"),
    "providers.*.timeout_s": _("as usual"),
}
_CHOICES: dict[tuple[str, str], str] = {
    ("watch.polling", "auto"): _("Only where it has to be"),
    ("watch.polling", "always"): _("Always"),
    ("watch.polling", "never"): _("Never"),
    ("providers.*.wire", ""): _("As known for this service"),
    ("providers.*.wire", "openai"): _("OpenAI's chat completions"),
    ("providers.*.wire", "openai-responses"): _("OpenAI's responses"),
    ("providers.*.wire", "anthropic"): _("Anthropic's messages"),
}


def label(key: str) -> str:
    """Of a generated field; the key where nobody wrote one."""
    return tr(LABELS[key]) if key in LABELS else key


def unit(key: str) -> str:
    return tr(_UNITS[key]) if key in _UNITS else ""


def zero(key: str) -> str:
    """What 0 says; empty where it is a figure like any other."""
    return tr(_ZEROS[key]) if key in _ZEROS else ""


def choice(key: str, value: str) -> str:
    """One choice in words; itself where nobody wrote any."""
    return tr(_CHOICES[key, value]) if (key, value) in _CHOICES else value


def explained(setting: Setting) -> str:
    """What it does, its default, and where it stands in `config.toml`: the tooltip of its field."""
    lines = [tr(HELP[setting.key])] if setting.key in HELP else []
    return "\n".join([*lines, tr("Default: {value}").format(value=default(setting)), setting.where])


def default(setting: Setting) -> str:
    """As it would stand in the file."""
    return as_toml(setting.default)


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)
