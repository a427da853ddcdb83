"""Background services in the window: what runs, the Activity tab, the doctor."""
