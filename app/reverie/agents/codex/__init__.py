"""Codex CLI: its home, memory store, threads, jobs and transcripts."""
