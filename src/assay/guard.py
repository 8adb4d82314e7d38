"""Bytes of others: the limits of every reader, stated once, and a child process for readers that have none themselves.

A library that reads a format written in C may crash, hang or fill the memory, and nothing inside this process can stop
it. Such a reader runs in a child process with limits of the kernel; its result comes back as bytes through a pipe,
never as a pickle, and each way in which it can end without a result is one line.
"""

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Timer
from typing import IO, Any, AnyStr, Final, NoReturn

from assay.errors import AssayError, DataError, plain_reason
from assay.files import parse_json

MiB: Final = 2**20

SIGKILL: Final = 9
SIGXCPU: Final = 24
"""Signals of Linux and macOS. The module `signal` of Windows has neither, and no process there ends by one."""

LARGEST_UNPACKED = 2**30
"""Bytes that a compressed file may unpack to: a small file can hold far more than the memory."""
LARGEST_RATIO = 200.0
"""Unpacked bytes over packed bytes. Source code packs about 5 to 1, the densest tables 100 to 1, a bomb 1,000 to 1."""
RATIO_FROM = 64 * 10**6
"""Unpacked bytes from which the ratio is checked."""
ROW_BYTES = 100
"""Bytes that a row of a table counts at least: a row that stores nothing takes memory when it is read."""
LONGEST_LINE = 64 * MiB
"""Bytes of a JSON line; a longer one is skipped without being read into memory."""
ENDLESS_LINE = 1024 * MiB
"""Bytes of a line that is passed over; a longer one ends its file, which may be a terabyte without a line break."""
LARGEST_METADATA = 10_000_000
"""Bytes that are read of a licence, a package description or a settings file."""
LARGEST_JSON = 256 * MiB
"""Bytes of a JSON document that is read whole: results of an evaluation are the largest."""

MOST_MEMBERS = 5_000_000
"""Members of an archive; files of a commit."""
MOST_UNPACKED = 64 * 10**9
"""Bytes of all members of an archive together."""
LARGEST_MEMBER = 2**40
"""Bytes that a header may state for a member; reading stops earlier, at the limits of the archive."""
LONGEST_HEADER = MiB // 4
"""Bytes of a name or an extended header in an archive; paths of the systems have 4096 at most."""
MOST_RECORDS = 1000
"""Records of the extended headers that hold for one member of an archive."""
LONGEST_NUMBER = 100
"""Digits in a row in an extended header."""
LONGEST_PATH = 2**15
"""Characters of the path of a member; a longer one counts as one that leads outside."""

CHILD_SECONDS = 60
"""Seconds of a processor that a reader in a child process may use, beside those for the size of its file."""
CHILD_MEMORY = 448 * MiB
"""Bytes of memory that a reader in a child process may use, beside those for the size of its file."""
PLENTY = 8192 * MiB
"""Bytes of addresses below which libraries get one thread each (ulimit -v)."""
BYTES_A_SECOND = MiB
"""Size of a file that adds a second to the time of its reader."""
MEMORY_A_BYTE = 20
"""Bytes of memory for each byte of a file."""
LONGEST_REASON = 300
"""Characters of the reason that a child process gives."""

# sysexits.h: wrong data; here with a reason, or with a line of ours
_REFUSED, _REPORTED = 65, 66
_FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Variables that keep a library from reserving memory for threads and pools."""


def lines_within(readline: Callable[[int], AnyStr], end: AnyStr) -> Iterator[AnyStr | None]:
    """Yield lines of at most `LONGEST_LINE`; None stands for a longer one, which is passed over piece by piece.

    Args:
        readline: of a stream; takes the most that it may return.
        end: of a line, which `readline` leaves at its end.

    Raises:
        DataError: a line, whose None came before, is longer than `ENDLESS_LINE`.
    """
    # an empty line of the stream's own type, text or bytes, ends it
    for line in iter(partial(readline, LONGEST_LINE), end[:0]):
        if len(line) < LONGEST_LINE or line.endswith(end):
            yield line
            continue
        yield None
        passed = len(line)
        while (rest := readline(LONGEST_LINE)) and not rest.endswith(end):
            passed += len(rest)
            if passed > ENDLESS_LINE:
                raise DataError(f"a line of more than {ENDLESS_LINE // MiB:,} MiB, expected shorter ones")


@contextmanager
def child_stream(
    reader: Callable[..., None],
    path: Path,
    *arguments: object,
    expected: str,
    error: type[AssayError] = DataError,
    seconds: int = CHILD_SECONDS,
    memory: int = CHILD_MEMORY,
    in_all: float | None = None,
) -> Iterator[IO[bytes]]:
    """Run a reader in a child process with limits, and yield the stream that it writes.

    Args:
        reader: a function of a module, called with a binary stream to write to, the path and the arguments.
        path: the file that is read; its size adds to the limits.
        arguments: values that JSON holds.
        expected: what the file has to be, for the message.
        error: the kind of error.
        seconds: of a processor; see `CHILD_SECONDS`.
        memory: bytes; see `CHILD_MEMORY`.
        in_all: seconds on the clock, waiting included; None where the caller may read slowly.

    Raises:
        AssayError: of the given kind, at the end of the stream: the reader refused the file, crashed, or went beyond a
            limit.
    """
    size = path.stat().st_size
    seconds, memory = seconds + size // BYTES_A_SECOND, memory + MEMORY_A_BYTE * size
    task = [reader.__module__, reader.__qualname__, seconds, memory, str(path), *arguments]
    # -P: nothing is imported from the current folder; and no fork, as this process may have threads
    process = subprocess.Popen(  # noqa: S603  this program, with our own arguments
        [sys.executable, "-P", "-m", __name__, json.dumps(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **_FRUGAL},
    )
    # time on the clock is kept by this process: the kernel limits a child by its processor time alone
    late = Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = Timer(in_all or 0.0, end)
    if in_all is not None:
        timer.start()

    def refuse(code: int, reason: str) -> NoReturn:
        if code == _REPORTED:
            raise error(reason)
        # without a word it was ended from outside: by SIGXCPU at the limit of the processor, by SIGKILL after `in_all`
        # or where the machine has no memory left
        if not reason:
            reason = f"ends its reader (status {code})"
            if code == -SIGXCPU or late.is_set():
                reason = f"takes more than {in_all or seconds:g} s"
            elif code == -SIGKILL:
                reason = "the system ended its reader, as it does where memory runs out"
        raise error(f"{path}: {reason}, expected {expected}")

    try:
        with io.BufferedReader(_Written(process, refuse)) as stream:
            yield stream
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


class _Written(io.RawIOBase):
    """Output of a child process. It ends only where the process did so without an error."""

    def __init__(self, process: subprocess.Popen[bytes], refuse: Callable[[int, str], NoReturn]) -> None:
        self._process, self._refuse = process, refuse

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  whatever holds bytes
        out, printed = self._process.stdout, self._process.stderr
        assert out is not None  # noqa: S101  both were opened above
        assert printed is not None  # noqa: S101
        count = os.readv(out.fileno(), [buffer])
        # an end without a status of 0 is a cut: half a table must not pass for a whole one
        if not count:
            reason = printed.read().decode("utf-8", "replace")
            if code := self._process.wait():
                self._refuse(code, reason)
        return count


def child_value(reader: Callable[..., None], path: Path, *arguments: object, in_all: float, **options: Any) -> Any:  # noqa: ANN401
    """Return the JSON value that a reader in a child process writes; see `child_stream`.

    Raises:
        AssayError: see there; the value is larger than `LARGEST_JSON`, or not JSON.
    """
    with child_stream(reader, path, *arguments, in_all=in_all, **options) as stream:
        return json_value(path, stream.read(LARGEST_JSON + 1))


def json_file(path: Path, most: int = LARGEST_JSON) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a JSON file that was named, and may be a device without end.

    Args:
        path: of the file.
        most: bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is larger, not UTF-8, not JSON, or nested too deeply.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return parse_json(content)


def json_value(path: Path, content: bytes) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a JSON document.

    Raises:
        DataError: it is larger than `LARGEST_JSON`, not UTF-8, not JSON, or nested too deeply.
    """
    if len(content) > LARGEST_JSON:
        raise DataError(f"{path}: more than {LARGEST_JSON:,} bytes, expected a smaller JSON file")
    try:
        return parse_json(content)
    except ValueError as fault:
        raise DataError(f"{path}: {plain_reason(fault)}, expected a JSON file") from fault


@contextmanager
def library_faults(path: Path, expected: str) -> Iterator[None]:
    """Turn every exception of a library that reads a foreign file into one line.

    Raises:
        DataError: instead of any other exception.
    """
    try:
        yield
    except (AssayError, GeneratorExit):
        raise
    except OSError as fault:
        # pyarrow raises OSError for bytes that are wrong as well, without a number of the system
        if fault.errno is not None:
            raise DataError(f"{path}: {plain_reason(fault)}, expected a readable file or folder") from fault
        raise DataError(f"{path}: {short_reason(fault)}, expected {expected}") from fault
    except Exception as fault:  # a library raises what it likes when its bytes are wrong
        raise DataError(f"{path}: {short_reason(fault)}, expected {expected}") from fault


def short_reason(fault: BaseException) -> str:
    """Return the first line of the reason of an exception, cut at `LONGEST_REASON` characters."""
    if isinstance(fault, MemoryError):
        return "needs too much memory"
    return plain_reason(fault)[:LONGEST_REASON].rstrip(". ")


def limit_process(process: int, *, seconds: int, memory: int) -> None:
    """Limit a process that has just been started (0: this one), where the system can: Linux.

    Args:
        process: its number.
        seconds: of a processor.
        memory: bytes.
    """
    try:
        import resource  # noqa: PLC0415  not on Windows

        # a page that is written counts, wherever it lies; mapped files and address space that is only reserved do not
        resource.prlimit(process, resource.RLIMIT_DATA, (memory, memory))
        resource.prlimit(process, resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, ProcessLookupError):
        pass


def be_frugal() -> None:
    """Keep libraries from reserving memory for threads where this process may use little; call it before they load.

    OpenBLAS waits for ever for threads that it has no memory for, in C, where no signal reaches Python.
    """
    try:
        import resource  # noqa: PLC0415  not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except ImportError:
        return
    if limit != resource.RLIM_INFINITY and limit < PLENTY:
        for name, value in _FRUGAL.items():
            os.environ.setdefault(name, value)


def _main(task: str) -> None:
    """Run one reader: what it writes goes to standard output, the reason why it cannot to standard error."""
    module, name, seconds, memory, *arguments = json.loads(task)
    # copies of both streams, before the numbers 1 and 2, which libraries in C write to, lead nowhere
    written, reasons = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(2), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    # a library that prints must not write into the result
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    limit_process(0, seconds=seconds, memory=memory)
    try:
        getattr(importlib.import_module(module), name)(written, *arguments)
        written.flush()
    except BrokenPipeError:
        # nobody reads any more
        os._exit(0)
    except AssayError as fault:
        reasons.write(str(fault))
        reasons.flush()
        os._exit(_REPORTED)
    except Exception as fault:  # noqa: BLE001  see `library_faults`
        large = f"needs more than {memory // MiB:,} MiB of memory"
        reasons.write(large if isinstance(fault, MemoryError) else short_reason(fault))
        reasons.flush()
        os._exit(_REFUSED)
    # a library whose memory is damaged may crash when it cleans up
    os._exit(0)


if __name__ == "__main__":
    _main(sys.argv[1])
