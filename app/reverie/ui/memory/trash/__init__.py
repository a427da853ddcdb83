"""What was deleted and can come back."""
