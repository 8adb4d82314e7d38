"""The tables and figures of the papers: one package a paper, its values beside ours."""
