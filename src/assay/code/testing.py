"""Programs with their tests, many in one sandbox: starting one costs more than most tests do."""

from collections.abc import Mapping, Sequence

from assay.code.sandbox import DEFAULT_LIMITS, Limits, run_python

_DRIVER = """
import os, runpy, sys

for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        sys.argv = [path]
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as ended:
            os._exit(0 if ended.code in (None, 0) else 1)
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(int(os.waitpid(child, 0)[1] == 0), flush=True)
"""


def passed(
    programs: Sequence[str],
    *,
    files: Mapping[str, str | bytes] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[bool, ...]:
    """Which programs end by themselves with exit code 0, run one after another, each in a process of its own.

    All share one sandbox and its wall time; those that it leaves no time for have not passed. They are guarded against
    accidents, not against each other: a program that means to can stop those after it, or write their results.

    Args:
        programs: whole programs, tests included.
        files: that all of them find in their working directory.
        limits: of the sandbox; the processor time is each program's.

    Raises:
        SandboxUnavailable: see `run_python`.
    """
    names = [f"program_{index}.py" for index in range(len(programs))]
    # as bytes: programs with \\r\\n keep it
    given = {name: program.encode() for name, program in zip(names, programs, strict=True)}
    done = run_python(_DRIVER, files={**(files or {}), **given}, arguments=names, limits=limits)
    said = [line == "1" for line in done.stdout.split()]
    return (*said, *[False] * (len(programs) - len(said)))[: len(programs)]
