"""Codex: rollouts become trace summaries, and those a handbook for each directory. By rules or a model."""
