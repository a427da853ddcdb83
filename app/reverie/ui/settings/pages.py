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
        (("", ("dream.engine",)), (_("Limits"), ("dream.max_loss_percent", "dream.time_limit_s"))),
        _("Without a model, nothing is sent. With a model, your memories are sent to its provider."),
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
            "During a conversation, writes what the assistant learns to the memory of its project. "
            "You can review and undo every run."
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
            "Keeps notes on each Claude Code session for you to read. Current versions of Claude "
            "Code do not read these notes, and delete them together with the transcript."
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
            "Extraction turns Codex rollouts into summaries, and the summaries into a handbook for "
            "each directory. You can also start an extraction in the Consolidate menu."
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
    "notes.start_tokens": _("&Begin notes at"),
    "notes.growth_tokens": _("&Update every"),
    "notes.tool_calls": _("After a &response, or after"),
    "notes.time_limit_s": _("&Stop an update after"),
    "extract.at_launch": _("E&xtract new rollouts at startup"),
    "extract.model": _("Mode&l"),
    "extract.max_rollouts": _("&At most"),
    "extract.concurrency": _("&Read in parallel"),
    "extract.idle_seconds": _("S&kip if changed in the last"),
    "extract.time_limit_s": _("&Stop each after"),
}

HELP: dict[str, str] = {
    "watch.reconcile_minutes": _("How often Reverie compares everything with the disk. 0 means never."),
    "watch.polling": _(
        "Polling reads every folder again at regular intervals. Some network drives need it "
        "because they do not report changes. Takes effect at the next start."
    ),
    "dream.engine": _(
        "Consolidate with fixed rules and no model, with one model, or with the agent's own "
        "model if it is available."
    ),
    "dream.time_limit_s": _("A consolidation that takes longer is stopped and changes nothing."),
    "dream.max_loss_percent": _(
        "A run that would remove a larger share of a scope's lines without keeping them "
        "elsewhere waits for your review."
    ),
    "providers.*.wire": _("The API of the service. Automatic selects the default API for this service."),
    "providers.*.base_url": _("The address of the service. Leave empty to use the default address."),
    "providers.*.headers": _(
        "Headers to send with every request, in the form “Name: value; another: value”. Values "
        "are secret and never shown. A name without a value removes that header."
    ),
    "providers.*.key_env": _(
        "The environment variable that contains the key. Leave empty to use the default variable."
    ),
    "providers.*.timeout_s": _(
        "How long to wait while the service sends no data. The default is 2 minutes, or 10 "
        "minutes for a service on this machine."
    ),
    "providers.*.max_retries": _("How many times to retry a request that fails in transit."),
    "background.*.enabled": _("Applies to this home only."),
    "background.*.runs_per_day": _("The maximum number of background runs in any 24 hours. 0 allows none."),
    "background.*.tokens_per_day": _(
        "No background run starts once this many tokens were used in the last 24 hours. 0 allows none."
    ),
    "system1.enabled": _("The memory writer updates the memory of the project during conversations."),
    "system1.interval": _(
        "The number of completed assistant turns between two runs, unless the agent's own "
        "settings override it."
    ),
    "system1.target": _(
        "Write to the agent's own file for the project, or to a memory in the project scope."
    ),
    "system1.model": _(
        "By default, the conversation's model; if there is none, the agent's default model; "
        "otherwise no model."
    ),
    "system1.time_limit_s": _("A run that takes longer is stopped and tried again at the next turn."),
    "system1.traces": _("A trace records each step of a run; the Traces tab shows it."),
    "system1.keep_count": _("Reverie deletes older traces, but only those that it wrote itself."),
    "system1.keep_bytes": _(
        "When the traces take more disk space, Reverie deletes the oldest ones that it wrote itself."
    ),
    "notes.enabled": _("Keep one notes file for each Claude Code session."),
    "notes.model": _("By default, the agent's own model if it is available; otherwise no model."),
    "notes.start_tokens": _("Start taking notes once the context of a session reaches this size."),
    "notes.growth_tokens": _("The context must grow by at least this much between two updates."),
    "notes.tool_calls": _(
        "After enough growth, an update runs at the end of a response or after this many tool calls."
    ),
    "notes.time_limit_s": _("An update that takes longer is stopped and leaves the notes as they were."),
    "extract.at_launch": _("Runs when the background services of a Codex home start."),
    "extract.model": _("By default, the same model setting as for consolidation."),
    "extract.max_rollouts": _(
        "The maximum number of rollouts in one extraction. The next extraction processes the rest."
    ),
    "extract.concurrency": _("The number of rollouts that are read at the same time."),
    "extract.idle_seconds": _(
        "A rollout that changed more recently is skipped because it could still be in use."
    ),
    "extract.time_limit_s": _("The time limit for each rollout and for each directory."),
    "window.font_size": _("The font size of everything in the window."),
    "window.language": _("Takes effect at the next start."),
    "window.theme": _("The theme of the window: light, dark, or the same as the system."),
    "window.editor_wrap": _("Wrap long lines at the edge of the editor."),
    "window.editor_line_numbers": _("Show line numbers next to the text in the editor."),
    "window.editor_zoom": _("The font size of the editor, relative to the rest of the window."),
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
    "window.editor_zoom": _("Same as the window"),
}
CHOICES: dict[tuple[str, str], str] = {
    ("window.theme", "system"): _("System"),
    ("window.theme", "light"): _("Light"),
    ("window.theme", "dark"): _("Dark"),
    ("window.language", "system"): _("System"),
    # Languages have their own names, so that users who cannot read the current one can find theirs.
    ("window.language", "en"): "English",
    ("window.language", "de"): "Deutsch",
    ("watch.polling", "auto"): _("System events, otherwise polling"),
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
    ("extract.model", ""): _("Same as for consolidation"),
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
