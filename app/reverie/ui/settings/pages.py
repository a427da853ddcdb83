"""The pages of the settings as data: the place of each setting, and its texts by key.

Every setting of the schema has an explanation here, and is on a page or in `FILE_ONLY`; a test checks this.
The command palette finds pages and settings in these tables, so this module must be fast to import.
"""

from __future__ import annotations

from reverie.ui.display_text import translatable as _
from reverie.ui.display_text import translated
from reverie.values import Struct


class PageSpec(Struct, frozen=True):
    """A page: groups of settings, each with a heading (empty: none) and the keys of its rows."""

    id: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    about: str = ""
    switch: str = ""
    """The setting that enables the others."""
    free: tuple[str, ...] = ()
    """Settings that apply even while the switch is off."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for _heading, keys in self.groups for key in keys)


MODELS = "models"
PAGES: tuple[PageSpec, ...] = (
    PageSpec(
        "general",
        _("General"),
        (
            ("", ("window.theme", "window.font_size", "window.language")),
            (_("Editor"), ("window.editor_zoom", "window.editor_wrap", "window.editor_line_numbers")),
            (_("Changes on disk"), ("watch.polling", "watch.reconcile_minutes")),
        ),
    ),
    PageSpec(
        "consolidation",
        _("Consolidation"),
        (
            ("", ("dream.engine",)),
            (_("Limits"), ("dream.max_loss_percent", "dream.time_limit_s")),
        ),
        _("Without a model nothing is sent. A model is sent memories: they go to its provider."),
    ),
    PageSpec(
        MODELS,
        _("Models"),
        (
            ("", ("providers.*.base_url",)),
            (
                _("More"),
                (
                    "providers.*.wire",
                    "providers.*.key_env",
                    "providers.*.headers",
                    "providers.*.timeout_s",
                    "providers.*.max_retries",
                ),
            ),
        ),
    ),
    PageSpec(
        "background",
        _("Background"),
        (("", ("background.*.enabled", "background.*.runs_per_day", "background.*.tokens_per_day")),),
        _(
            "Consolidates when a workspace is compacted or archived, and when Reverie starts. You can review "
            "and undo every run."
        ),
        "background.*.enabled",
    ),
    PageSpec(
        "writer",
        _("Memory writer"),
        (
            ("", ("system1.enabled", "system1.interval", "system1.target", "system1.model")),
            (
                _("Limits"),
                ("system1.time_limit_s", "system1.traces", "system1.keep_count", "system1.keep_bytes"),
            ),
        ),
        _(
            "Writes what the assistant learns to the memory of its project while a conversation goes on. You "
            "can review and undo every run."
        ),
        "system1.enabled",
        # Manual runs use these even if automatic writing is off.
        ("system1.model", "system1.target", "system1.time_limit_s"),
    ),
    PageSpec(
        "notes",
        _("Session notes"),
        (
            ("", ("notes.enabled", "notes.model")),
            (
                _("When to update"),
                ("notes.start_tokens", "notes.growth_tokens", "notes.tool_calls", "notes.time_limit_s"),
            ),
        ),
        _(
            "Keeps notes on each session of Claude Code, for you to read: current versions of Claude Code do "
            "not read them, and delete them with the transcript."
        ),
        "notes.enabled",
        # Manual updates use the model even if automatic notes are off.
        ("notes.model", "notes.time_limit_s"),
    ),
    PageSpec(
        "codex",
        _("Codex"),
        (
            ("", ("extract.at_launch", "extract.model")),
            (
                _("Limits"),
                (
                    "extract.max_rollouts",
                    "extract.concurrency",
                    "extract.idle_seconds",
                    "extract.time_limit_s",
                ),
            ),
        ),
        _(
            "Extraction turns Codex rollouts into summaries, and those into a handbook for each directory. "
            "You can also start it in the Consolidate menu."
        ),
    ),
)
FILE_ONLY = frozenset({"watch.quiet_ms", "watch.cap_ms", "history.pack_after"})
"""Settings for developers only, in `config.toml` but not in the window."""

LABELS: dict[str, str] = {
    "window.theme": _("&Appearance"),
    "window.font_size": _("&Font size"),
    "window.language": _("&Language"),
    "window.editor_zoom": _("&Editor font size"),
    "window.editor_wrap": _("&Wrap long lines"),
    "window.editor_line_numbers": _("Show line &numbers"),
    "watch.polling": _("N&otice changes by"),
    "watch.reconcile_minutes": _("&Compare with the disk every"),
    "dream.engine": _("Consolidate &with"),
    "dream.max_loss_percent": _("&Ask me before removing more than"),
    "dream.time_limit_s": _("&Stop a run after"),
    "providers.*.base_url": _("&Address"),
    "providers.*.wire": _("A&PI"),
    "providers.*.key_env": _("Key from en&vironment variable"),
    "providers.*.headers": _("&Headers"),
    "providers.*.timeout_s": _("T&imeout"),
    "providers.*.max_retries": _("&Retries"),
    "background.*.enabled": _("&Consolidate in the background"),
    "background.*.runs_per_day": _("&Runs per day"),
    "background.*.tokens_per_day": _("&Tokens per day"),
    "system1.enabled": _("&Write memories during conversations"),
    "system1.interval": _("&Run every"),
    "system1.target": _("Wr&ite to"),
    "system1.model": _("Mode&l"),
    "system1.time_limit_s": _("&Stop a run after"),
    "system1.traces": _("Keep a &trace of"),
    "system1.keep_count": _("&Keep at most"),
    "system1.keep_bytes": _("and at &most"),
    "notes.enabled": _("&Keep session notes up to date"),
    "notes.model": _("Mode&l"),
    "notes.start_tokens": _("&Begin at"),
    "notes.growth_tokens": _("&Update every"),
    "notes.tool_calls": _("Or after the &answer, or"),
    "notes.time_limit_s": _("&Stop an update after"),
    "extract.at_launch": _("E&xtract new rollouts at startup"),
    "extract.model": _("Mode&l"),
    "extract.max_rollouts": _("&At most"),
    "extract.concurrency": _("&Read at once"),
    "extract.idle_seconds": _("S&kip if changed in the last"),
    "extract.time_limit_s": _("&Stop each after"),
}

HELP: dict[str, str] = {
    "watch.reconcile_minutes": _("How often everything is compared with the disk; 0: never."),
    "watch.polling": _(
        "Polling reads every folder again and again; some network drives report no changes otherwise. From "
        "the next start."
    ),
    "dream.engine": _(
        "What consolidates: fixed rules without a model, one model, or the agent's own model if it can be "
        "reached."
    ),
    "dream.time_limit_s": _("A consolidation that takes longer is stopped and changes nothing."),
    "dream.max_loss_percent": _(
        "A run that would remove more of a scope's lines without keeping them elsewhere waits for your "
        "review."
    ),
    "providers.*.wire": _("The interface of the service. Automatic: the usual one for this service."),
    "providers.*.base_url": _("Where the service is. Empty: its usual address."),
    "providers.*.headers": _(
        "Sent with every request, as “Name: value; another: value”. Values are secret and never shown; a "
        "name without a value removes it."
    ),
    "providers.*.key_env": _("The environment variable that holds the key. Empty: the usual one."),
    "providers.*.timeout_s": _(
        "How long the service may be silent. Default: two minutes, and ten for a service on this machine."
    ),
    "providers.*.max_retries": _("How often a request that failed on its way is repeated."),
    "background.*.enabled": _("In this home only."),
    "background.*.runs_per_day": _("Background runs in any 24 hours; 0 allows none."),
    "background.*.tokens_per_day": _(
        "No background run starts once the last 24 hours have used this many tokens; 0 allows none."
    ),
    "system1.enabled": _("The memory writer updates the memory of the project during conversations."),
    "system1.interval": _(
        "Completed turns of the assistant between two runs, unless the agent says otherwise."
    ),
    "system1.target": _("The agent's own file for the project, or a memory in the project scope."),
    "system1.model": _("By default the model of the conversation, else the agent's default, else no model."),
    "system1.time_limit_s": _("A run that takes longer is stopped, and repeated at the next turn."),
    "system1.traces": _("A trace records each step of a run; the Traces tab shows it."),
    "system1.keep_count": _("Older traces are deleted, but only those that Reverie wrote."),
    "system1.keep_bytes": _("When traces take more room, the oldest that Reverie wrote are deleted."),
    "notes.enabled": _("One file of notes for each session of Claude Code."),
    "notes.model": _("By default the agent's own model if it can be reached, else no model."),
    "notes.start_tokens": _("Notes begin once the context of a session is this large."),
    "notes.growth_tokens": _("An update needs at least this much growth of the context."),
    "notes.tool_calls": _(
        "With enough growth, an update runs at the end of an answer or after this many tool calls."
    ),
    "notes.time_limit_s": _("An update that takes longer is stopped and leaves the notes as they were."),
    "extract.at_launch": _("Runs when the background services of a Codex home start."),
    "extract.model": _("By default what a consolidation uses."),
    "extract.max_rollouts": _("Rollouts in one extraction; the next one takes the others."),
    "extract.concurrency": _("Rollouts that are read at the same time."),
    "extract.idle_seconds": _("A rollout that changed more recently is still in use."),
    "extract.time_limit_s": _("For each rollout and each directory."),
    "window.font_size": _("Of everything in the window."),
    "window.language": _("From the next start."),
    "window.theme": _("The theme of the window: light, dark, or as the system."),
    "window.editor_wrap": _("Break long lines at the edge of the editor."),
    "window.editor_line_numbers": _("Beside the text of the editor."),
    "window.editor_zoom": _("Compared with the rest of the window."),
}
UNITS: dict[str, str] = {
    "window.font_size": _(" pt"),
    "watch.reconcile_minutes": _(" min"),
    "dream.max_loss_percent": _(" % of the lines"),
    "dream.time_limit_s": _(" s"),
    "providers.*.timeout_s": _(" s"),
    "system1.interval": _(" turns"),
    "system1.time_limit_s": _(" s"),
    "system1.keep_count": _(" traces"),
    "system1.keep_bytes": _(" MB"),
    "notes.start_tokens": _(" tokens"),
    "notes.growth_tokens": _(" tokens"),
    "notes.tool_calls": _(" tool calls"),
    "notes.time_limit_s": _(" s"),
    "extract.max_rollouts": _(" rollouts"),
    "extract.concurrency": _(" rollouts"),
    "extract.idle_seconds": _(" s"),
    "extract.time_limit_s": _(" s"),
    "window.editor_zoom": _(" pt"),
}
ZEROS: dict[str, str] = {
    "watch.reconcile_minutes": _("never"),
    "providers.*.timeout_s": _("default"),
    "window.font_size": _("System"),
    "window.editor_zoom": _("As the window"),
}
CHOICES: dict[tuple[str, str], str] = {
    ("window.theme", "system"): _("System"),
    ("window.theme", "light"): _("Light"),
    ("window.theme", "dark"): _("Dark"),
    ("window.language", "system"): _("System"),
    # Languages have their own names, so that users who cannot read the current one can find theirs.
    ("window.language", "en"): "English",
    ("window.language", "de"): "Deutsch",
    ("watch.polling", "auto"): _("System events, else polling"),
    ("watch.polling", "always"): _("Polling only"),
    ("watch.polling", "never"): _("System events only"),
    ("providers.*.wire", ""): _("Automatic"),
    ("providers.*.wire", "openai"): _("OpenAI chat completions"),
    ("providers.*.wire", "openai-responses"): _("OpenAI responses"),
    ("providers.*.wire", "anthropic"): _("Anthropic messages"),
    ("system1.target", "project-file"): _("The project's memory file"),
    ("system1.target", "project-memory"): _("The project memory system-1.md"),
    ("system1.traces", "failures"): _("Failed runs"),
    ("system1.traces", "always"): _("All runs"),
    ("system1.traces", "never"): _("No runs"),
    ("dream.engine", "auto"): _("Automatic (the agent's model)"),
    ("dream.engine", "rules"): _("No model"),
    ("system1.model", ""): _("The conversation's model"),
    ("system1.model", "rules"): _("No model"),
    ("notes.model", ""): _("The agent's model"),
    ("notes.model", "rules"): _("No model"),
    ("extract.model", ""): _("As for consolidation"),
    ("extract.model", "rules"): _("No model"),
}


def page_of(key: str) -> PageSpec:
    """Return the page of a setting."""
    return next(page for page in PAGES if key in page.keys)


def label(key: str) -> str:
    """Return the label of a setting, without its mnemonic."""
    return translated(LABELS[key]).replace("&", "")


def choices(key: str) -> tuple[tuple[str, str], ...]:
    """Return the (value, text) pairs of a setting that has names for some of its values."""
    return tuple((value, translated(text)) for (each, value), text in CHOICES.items() if each == key)
