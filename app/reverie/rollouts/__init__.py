"""Codex's start-up pipeline: each rollout becomes a trace summary, each directory's traces a handbook."""
