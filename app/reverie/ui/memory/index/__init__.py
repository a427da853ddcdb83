"""What an agent loads of its index of memories, what is wrong with it, and mends."""
