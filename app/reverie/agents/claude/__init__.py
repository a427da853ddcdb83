"""Claude Code: its home, projects, index, instruction files and transcripts."""
