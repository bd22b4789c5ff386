"""Expected values, from something that is independent of the path under test."""
