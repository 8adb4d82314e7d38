"""The output of a process, up to a limit, until a deadline."""

import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from typing import IO

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Captured:
    """What a process wrote."""

    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool


def capture(process: subprocess.Popen[bytes], *, seconds: float, limit: int) -> Captured:
    """Reads both streams to their ends, keeps `limit` bytes of each, and kills the process when `seconds` are over.

    What comes after the limit is read and dropped, so a talkative program still ends with its own exit code.
    """
    deadline = time.monotonic() + seconds
    kept: dict[IO[bytes], bytearray] = {}
    truncated = timed_out = False
    with process, selectors.DefaultSelector() as streams:
        try:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    kept[stream] = bytearray()
                    streams.register(stream, selectors.EVENT_READ)
            while streams.get_map():
                ready = streams.select(max(0.0, deadline - time.monotonic()))
                if time.monotonic() >= deadline:
                    timed_out = True
                    break
                for key, _events in ready:
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        streams.unregister(key.fileobj)
                        continue
                    held = kept[key.fileobj]  # type: ignore[index]  # we registered nothing but the two streams
                    truncated |= len(held) + len(chunk) > limit
                    held += chunk[: limit - len(held)]
            if not timed_out:
                timed_out = not _ended(process, deadline)
        finally:
            if process.poll() is None:
                process.kill()
    stdout, stderr = kept.values()
    return Captured(bytes(stdout), bytes(stderr), truncated, timed_out)


def _ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Whether a process that has closed its streams also ends in time."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
