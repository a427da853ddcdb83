"""The memory writer: schedule, state, engines, one run. `service` is the door."""
