"""Names in languages other than Python, followed over tree-sitter's syntax trees: one table of rules a language."""
