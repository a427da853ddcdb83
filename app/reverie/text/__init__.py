"""Text as such: secrets taken out, lengths and tokens counted, counts said."""
