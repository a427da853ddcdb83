"""Extraction for Codex: rollouts become trace summaries, and those a handbook per directory."""
