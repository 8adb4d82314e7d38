"""A git repository whose commits have the days that a test gives them."""

import os
import subprocess
from pathlib import Path


class DatedRepository:
    """A repository in a new folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, author: str = "2020-01-01", committer: str | None = None) -> str:
        days = {"GIT_AUTHOR_DATE": f"{author}T12:00:00Z", "GIT_COMMITTER_DATE": f"{committer or author}T12:00:00Z"}
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
        done = subprocess.run(
            ["git", *who, *arguments],
            cwd=self.path,
            env=os.environ | days | nobody,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, day: str, files: dict[str, str | None], committer: str | None = None) -> None:
        """Write (or, for None, delete) files, and commit them on a day."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, "utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", day, author=day, committer=committer)
