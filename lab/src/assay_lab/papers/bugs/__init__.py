"""Bug benchmarks: what models remember of bugs and their fixes."""
