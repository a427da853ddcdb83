"""Agents' state directories behind one protocol: mux, Codex, Claude Code, loki-mode; discovery."""
