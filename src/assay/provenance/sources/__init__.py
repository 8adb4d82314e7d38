"""Where files come from: folders, git repositories, archives, tables and streams; `open_sources` opens them all."""
