"""The output of a process, up to a limit, until a deadline or until it uses too much memory."""

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

_CHUNK = 1 << 16
_INTERVAL = 0.03  # smallest number of seconds between two measurements of the memory
_SHARE = 10  # and at least this many times the duration of a measurement


@dataclass(frozen=True, slots=True)
class Captured:
    """The output of a process.

    Attributes:
        stdout: its first bytes.
        stderr: its first bytes.
        truncated: one of them was longer.
        timed_out: the process was killed at the deadline.
        out_of_memory: the process was killed because it used too much memory.
    """

    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool
    out_of_memory: bool


@dataclass(slots=True)
class _Stop:
    """The reasons to end a process before it ends by itself.

    Attributes:
        deadline: on the monotonic clock.
        exceeded: returns True if the process uses too much memory; called at intervals that grow with its duration.
        due: time of the next call.
        timed_out: the deadline has passed.
        out_of_memory: `exceeded` returned True.
    """

    deadline: float
    exceeded: Callable[[], bool]
    due: float = 0.0
    timed_out: bool = False
    out_of_memory: bool = False

    @property
    def pause(self) -> float:
        """Seconds until there is something to check."""
        return max(0.0, min(self.deadline, self.due) - time.monotonic())

    def now(self) -> bool:
        """Return True if the process must end; after that, always True."""
        if self.timed_out or self.out_of_memory:
            return True
        start = time.monotonic()
        if start >= self.deadline:
            self.timed_out = True
        elif start >= self.due:
            self.out_of_memory = self.exceeded()
            end = time.monotonic()
            # a sandbox with many processes takes long to measure: measuring never takes more than a tenth of the time
            self.due = end + max(_INTERVAL, (end - start) * _SHARE)
        return self.timed_out or self.out_of_memory


def capture(
    process: subprocess.Popen[bytes], *, seconds: float, limit: int, exceeded: Callable[[], bool] = lambda: False
) -> Captured:
    """Read both streams to their ends, and kill the process at the deadline or if it uses too much memory.

    Output beyond the limit is read and discarded, so a program with much output still ends with its own exit code.

    Args:
        process: with pipes for stdout and stderr.
        seconds: until it is killed.
        limit: bytes to keep of each stream.
        exceeded: returns True if it uses too much memory.
    """
    stop = _Stop(time.monotonic() + seconds, exceeded)
    kept: dict[IO[bytes], bytearray] = {}
    truncated = False
    with process, selectors.DefaultSelector() as streams:
        try:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    kept[stream] = bytearray()
                    streams.register(stream, selectors.EVENT_READ)
            while streams.get_map() and not stop.now():
                for key, _events in streams.select(stop.pause):
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        streams.unregister(key.fileobj)
                        continue
                    output = kept[key.fileobj]  # type: ignore[index]  # only the two streams are registered
                    truncated |= len(output) + len(chunk) > limit
                    output += chunk[: limit - len(output)]
            while not stop.now() and not _ended(process, stop.pause):
                pass  # a process that has closed its streams may go on
        finally:
            if process.poll() is None:
                process.kill()
    stdout, stderr = kept.values()
    return Captured(
        bytes(stdout),
        stderr=bytes(stderr),
        truncated=truncated,
        timed_out=stop.timed_out,
        out_of_memory=stop.out_of_memory,
    )


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
