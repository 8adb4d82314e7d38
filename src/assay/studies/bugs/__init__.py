"""The study of a bug benchmark: what a model remembers of the bug, the fix and the issue text."""
