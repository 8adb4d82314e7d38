"""How source code is read: syntax trees, lexemes, and the functions of a file."""
