"""Memory that a process may still take."""

from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux shows the limits of a container: version 2 of control groups, or version 1 under `memory`."""

_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def available_memory() -> int:
    """Return the bytes that can be taken without swapping: of the machine, or of the container where that is less."""
    import psutil  # noqa: PLC0415  comes with accelerate (extra hf)

    return min([int(psutil.virtual_memory().available), *_left_in_container()])


def _left_in_container() -> list[int]:
    left = []
    for limit, usage in _FILES:
        try:
            most, used = (int((CGROUP / name).read_text("ascii")) for name in (limit, usage))
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
        left.append(most - used + _reclaimable((CGROUP / limit).parent))
    return left


def _reclaimable(folder: Path) -> int:
    """Return the bytes of file cache that the kernel gives back; they count as used."""
    try:
        lines = (folder / "memory.stat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
