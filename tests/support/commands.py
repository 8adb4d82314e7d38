"""The end of a command line run."""

from dataclasses import dataclass


@dataclass
class Finished:
    code: int
    out: str
    err: str
