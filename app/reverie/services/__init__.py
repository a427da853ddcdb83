"""What the window and the commands ask for, and the background services of a home."""
