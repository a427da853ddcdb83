"""Session notes of Claude Code: schedule, engines and runs. Import `service` from outside."""
