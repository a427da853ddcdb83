"""The judgement of the embedded rules engine: what says the same, what contradicts, how to merge. Pure."""
