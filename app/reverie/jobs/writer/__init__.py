"""The memory writer: schedule, state, engines and runs. Import `service` from outside."""
