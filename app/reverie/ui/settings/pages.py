"""The pages of the settings dialog as data: the page of each setting, its label and its explanation.

Every setting of the schema has an explanation here, and is on a page or in `FILE_ONLY`; a test checks this.
The command palette finds pages and settings in these tables, so this module must be fast to import.
"""

from __future__ import annotations

from reverie.ui.display_text import translatable as _
from reverie.ui.display_text import translated
from reverie.values import Struct


class SettingSpec(Struct, frozen=True):
    """The texts of a setting on a page; the type and the limits of its field come from the schema."""

    key: str
    label: str
    help: str
    unit: str = ""
    """The text after a number."""
    zero: str = ""
    """The name of the value 0; empty if 0 has no name."""
    scale: int = 1
    """How much of the setting is 1 in its field, such as the number of bytes in a megabyte."""
    choices: tuple[tuple[str, str], ...] = ()
    """The values that have a name, as (value, name) pairs."""


class PageSpec(Struct, frozen=True):
    """A page of the settings dialog."""

    id: str
    title: str
    about: str
    """The text above the settings; empty for none."""
    rows: tuple[str | SettingSpec, ...]
    """The settings, and before each group of them its heading."""
    switch: str = ""
    """The key of the setting that enables the others; empty for none."""
    free: tuple[str, ...] = ()
    """The keys of the settings that can be edited even while the switch is off."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(row.key for row in self.rows if isinstance(row, SettingSpec))


MODELS = "models"
PAGES: tuple[PageSpec, ...] = (
    PageSpec("general", _("General"), "", (
        SettingSpec("window.theme", _("&Appearance"),
            _("The theme of the window: light, dark, or the same as the system."),
            choices=(("system", _("System")), ("light", _("Light")), ("dark", _("Dark")))),
        SettingSpec("window.font_size", _("&Font size"),
            _("The font size of everything in the window."), unit=_(" pt"), zero=_("System")),
        SettingSpec("window.language", _("&Language"),
            _("Takes effect at the next start."),
            choices=(("system", _("System")), ("en", "English"), ("de", "Deutsch"))),
        _("Editor"),
        SettingSpec("window.editor_zoom", _("&Editor font size"),
            _("The font size of the editor, relative to the rest of the window."), unit=_(" pt"),
            zero=_("Same as the window")),
        SettingSpec("window.editor_wrap", _("&Wrap long lines"),
            _("Wrap long lines at the edge of the editor.")),
        SettingSpec("window.editor_line_numbers", _("Show line &numbers"),
            _("Show line numbers next to the text in the editor.")),
        _("Changes on disk"),
        SettingSpec("watch.polling", _("N&otice changes by"),
            _("Polling reads every folder again at regular intervals. Some network drives need it because "
              "they do not report changes. Takes effect at the next start."),
            choices=(("auto", _("System events, otherwise polling")), ("always", _("Polling only")),
                     ("never", _("System events only")))),
        SettingSpec("watch.reconcile_minutes", _("&Compare with the disk every"),
            _("How often Reverie compares everything with the disk. 0 means never."), unit=_(" min"),
            zero=_("never")),
    )),
    PageSpec("consolidation", _("Consolidation"),
        _("Without a model, nothing is sent. With a model, your memories are sent to its provider."), (
        SettingSpec("dream.engine", _("Consolidate &with"),
            _("Consolidate with fixed rules and no model, with one model, or with the agent's own model if "
              "it is available."),
            choices=(("auto", _("Automatic (the agent's model)")), ("rules", _("No model")))),
        _("Limits"),
        SettingSpec("dream.max_loss_percent", _("&Ask me before removing more than"),
            _("A run that would remove a larger share of a scope's lines without keeping them elsewhere "
              "waits for your review."), unit=_(" % of the lines")),
        SettingSpec("dream.time_limit_s", _("&Stop a run after"),
            _("A consolidation that takes longer is stopped and changes nothing."), unit=_(" s")),
    )),
    PageSpec(MODELS, _("Models"), "", (
        SettingSpec("providers.*.base_url", _("&Address"),
            _("The address of the service. Leave empty to use the default address.")),
        _("More"),
        SettingSpec("providers.*.wire", _("A&PI"),
            _("The API of the service. Automatic selects the default API for this service."),
            choices=(("", _("Automatic")), ("openai", _("OpenAI chat completions")),
                     ("openai-responses", _("OpenAI responses")), ("anthropic", _("Anthropic messages")))),
        SettingSpec("providers.*.key_env", _("Key from en&vironment variable"),
            _("The environment variable that contains the key. Leave empty to use the default variable.")),
        SettingSpec("providers.*.headers", _("&Headers"),
            _("Headers to send with every request, in the form “Header: value; Another-Header: value”. "
              "Values are secret and never shown. A name without a value removes that header.")),
        SettingSpec("providers.*.timeout_s", _("T&imeout"),
            _("How long to wait while the service sends no data. The default is 2 minutes, or 10 minutes for "
              "a service on this machine."), unit=_(" s"), zero=_("default")),
        SettingSpec("providers.*.max_retries", _("&Retries"),
            _("How many times to retry a request that fails in transit.")),
    )),
    PageSpec("background", _("Background"),
        _("Consolidates when a workspace is compacted or archived, and when Reverie starts. You can review "
          "and undo every run."), (
        SettingSpec("background.*.enabled", _("&Consolidate in the background"),
            _("Applies to this home only.")),
        SettingSpec("background.*.runs_per_day", _("&Runs per day"),
            _("The maximum number of background runs in any 24 hours. 0 allows none.")),
        SettingSpec("background.*.tokens_per_day", _("&Tokens per day"),
            _("No background run starts once this many tokens were used in the last 24 hours. 0 allows "
              "none.")),
    ), "background.*.enabled"),
    PageSpec("writer", _("Memory writer"),
        _("During a conversation, writes what the assistant learns to the memory of its project. You can "
          "review and undo every run."), (
        SettingSpec("system1.enabled", _("&Write memories during conversations"),
            _("The memory writer updates the memory of the project during conversations.")),
        SettingSpec("system1.interval", _("&Run every"),
            _("The number of completed assistant turns between two runs, unless the agent's own settings "
              "override it."), unit=_(" turns")),
        SettingSpec("system1.target", _("Wr&ite to"),
            _("Write to the agent's own file for the project, or to a memory in the project scope."),
            choices=(("project-file", _("The project's memory file")),
                     ("project-memory", _("The project memory system-1.md")))),
        SettingSpec("system1.model", _("Mode&l"),
            _("By default, the conversation's model; if there is none, the agent's default model; otherwise "
              "no model."),
            choices=(("", _("The conversation's model")), ("rules", _("No model")))),
        _("Limits"),
        SettingSpec("system1.time_limit_s", _("&Stop a run after"),
            _("A run that takes longer is stopped and tried again at the next turn."), unit=_(" s")),
        SettingSpec("system1.traces", _("Keep a &trace of"),
            _("A trace records each step of a run; the Traces tab shows it."),
            choices=(("failures", _("Failed runs")), ("always", _("All runs")), ("never", _("No runs")))),
        SettingSpec("system1.keep_count", _("&Keep at most"),
            _("Reverie deletes older traces, but only those that it wrote itself."), unit=_(" traces")),
        SettingSpec("system1.keep_bytes", _("and at &most"),
            _("When the traces take more disk space, Reverie deletes the oldest ones that it wrote itself."),
            unit=_(" MB"), scale=1_000_000),
    ), "system1.enabled", ("system1.model", "system1.target", "system1.time_limit_s")),
    PageSpec("notes", _("Session notes"),
        _("Keeps notes on each Claude Code session for you to read. Current versions of Claude Code do not "
          "read these notes, and delete them together with the transcript."), (
        SettingSpec("notes.enabled", _("&Keep session notes up to date"),
            _("Keep one notes file for each Claude Code session.")),
        SettingSpec("notes.model", _("Mode&l"),
            _("By default, the agent's own model if it is available; otherwise no model."),
            choices=(("", _("The agent's model")), ("rules", _("No model")))),
        _("When to update"),
        SettingSpec("notes.start_tokens", _("&Begin notes at"),
            _("Start taking notes once the context of a session reaches this size."), unit=_(" tokens")),
        SettingSpec("notes.growth_tokens", _("&Update every"),
            _("The context must grow by at least this much between two updates."), unit=_(" tokens")),
        SettingSpec("notes.tool_calls", _("After a &response, or after"),
            _("After enough growth, an update runs at the end of a response or after this many tool calls."),
            unit=_(" tool calls")),
        SettingSpec("notes.time_limit_s", _("&Stop an update after"),
            _("An update that takes longer is stopped and leaves the notes as they were."), unit=_(" s")),
    ), "notes.enabled", ("notes.model", "notes.time_limit_s")),
    PageSpec("codex", _("Codex"),
        _("Extraction turns Codex rollouts into summaries, and the summaries into a handbook for each "
          "directory. You can also start an extraction in the Consolidate menu."), (
        SettingSpec("extract.at_launch", _("E&xtract new rollouts at startup"),
            _("Runs when the background services of a Codex home start.")),
        SettingSpec("extract.model", _("Mode&l"),
            _("By default, the same model setting as for consolidation."),
            choices=(("", _("Same as for consolidation")), ("rules", _("No model")))),
        _("Limits"),
        SettingSpec("extract.max_rollouts", _("&At most"),
            _("The maximum number of rollouts in one extraction. The next extraction processes the rest."),
            unit=_(" rollouts")),
        SettingSpec("extract.concurrency", _("&Read in parallel"),
            _("The number of rollouts that are read at the same time."), unit=_(" rollouts")),
        SettingSpec("extract.idle_seconds", _("S&kip if changed in the last"),
            _("A rollout that changed more recently is skipped because it could still be in use."),
            unit=_(" s")),
        SettingSpec("extract.time_limit_s", _("&Stop each after"),
            _("The time limit for each rollout and for each directory."), unit=_(" s")),
    )),
)  # fmt: skip
FILE_ONLY = frozenset({"watch.quiet_ms", "watch.cap_ms", "history.pack_after", "mcp.allow_writes"})
"""Settings in `config.toml` that have no field in the window.

They are for developers, or a table by names of programs, which the guide to the memory server explains.
"""

SPECS = {row.key: row for page in PAGES for row in page.rows if isinstance(row, SettingSpec)}


def label(key: str) -> str:
    """Return the translated label of the setting `key`, without the `&` of its mnemonic."""
    return translated(SPECS[key].label).replace("&", "")


def choices(key: str) -> tuple[tuple[str, str], ...]:
    """Return the (value, translated text) pairs of a setting whose values have names; empty for any other."""
    return tuple((value, translated(text)) for value, text in SPECS[key].choices)
