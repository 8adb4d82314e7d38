"""Programs with their tests, many in one sandbox: starting one costs more than most tests do."""

from collections.abc import Mapping, Sequence

from assay.code.sandbox.execution import DEFAULT_LIMITS, Limits, run, run_python
from assay.code.sandbox.toolchains import LIMITS, TOOLCHAINS

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
    language: str = "python",
    files: Mapping[str, str | bytes] | None = None,
    limits: Limits | None = None,
) -> tuple[bool, ...]:
    """Which programs compile and end by themselves with exit code 0, run one after another.

    All share one sandbox and its wall time; those that it leaves no time for have not passed. They are guarded against
    accidents, not against each other: a program that means to can stop those after it, or write their results. Each
    has a process of its own, but those in Java, which share one.

    Args:
        programs: whole programs, tests included; in Java, with a class Main.
        language: "python", "c", "cpp", "java" or "javascript"; all but Python by this machine's own tools.
        files: that all of them find in their working directory.
        limits: of the sandbox; the processor time is each program's, or its compiler's. By default those of the
            language: compilers and virtual machines need more than Python does.

    Raises:
        ValueError: there is nothing to run that language with.
        SandboxUnavailable: see `run_python`; or the compiler or interpreter is not installed.
    """
    if language == "python":
        # as bytes: programs with \r\n keep it
        given = {f"program_{index}.py": program.encode() for index, program in enumerate(programs)}
        allowed = limits or DEFAULT_LIMITS
        done = run_python(_DRIVER, files={**(files or {}), **given}, arguments=list(given), limits=allowed)
    else:
        tools = TOOLCHAINS.get(language)
        if tools is None:
            raise ValueError(f"received the language {language!r}, expected one of {['python', *TOOLCHAINS]}")
        given = {tools.source(index): program.encode() for index, program in enumerate(programs)}
        done = run(
            tools.command(tools.tool(), list(given)),
            files={**(files or {}), **tools.files, **given},
            visible=tools.visible(),
            limits=limits or LIMITS,
        )
    said = [line == "1" for line in done.stdout.split()]
    return (*said, *[False] * (len(programs) - len(said)))[: len(programs)]
