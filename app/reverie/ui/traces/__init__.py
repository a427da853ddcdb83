"""The Traces tab: trace dumps with their verdicts, shown as a timeline, as messages and as raw JSON."""
