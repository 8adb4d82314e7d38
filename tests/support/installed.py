"""Code that hides packages from the import system, as if they were not installed."""

from collections.abc import Iterable


def without(packages: Iterable[str]) -> str:
    """Python source; after it runs, these packages can be neither imported nor found."""
    return f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec

def find_installed(name, *place):
    return None if name.partition(".")[0] in {sorted(packages)} else find(name, *place)

PathFinder.find_spec = find_installed
"""
