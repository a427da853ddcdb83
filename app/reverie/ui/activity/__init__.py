"""The Activity tab: every decision of the background services, and what is at work now."""
