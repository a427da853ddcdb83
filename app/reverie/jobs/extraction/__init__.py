"""Extraction for Codex: makes trace summaries of rollouts, and a handbook per directory of the summaries."""
