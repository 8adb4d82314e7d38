"""Programs with their tests, many in one sandbox, because starting a sandbox takes longer than most tests.

Compilers and interpreters are those of this machine, read-only inside the sandbox.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.code.sandbox.execution import DEFAULT_LIMITS, Limits, run_command, run_python
from assay.errors import SandboxUnavailable
from assay.languages import LANGUAGES

_SYSTEM = Path("/usr")
_GIB = 1 << 30
TOOLCHAIN_LIMITS = Limits(
    wall_seconds=300,
    cpu_seconds=120,
    memory=4 * _GIB,
    address_space=64 * _GIB,  # these runtimes reserve far more than they use
    processes=256,
    open_files=1024,
    file_size=_GIB // 4,
    scratch=_GIB,
)

_NATIVE = """
for source in "$@"; do
  if {compiler} -w -O0 -o /tmp/program "$source" -lm >/dev/null 2>&1 &&
    (ulimit -t 5; ulimit -v 1048576; exec timeout -s KILL 10 /tmp/program) >/dev/null 2>&1 </dev/null
  then echo 1; else echo 0; fi
done
"""

_NODE = """
cat >/tmp/asserts.js <<'END'
console.assert = (holds) => { if (!holds) process.exitCode = 1; };
END
for source in "$@"; do
  if (ulimit -t 5
    exec timeout -s KILL 10 node --max-old-space-size=512 -r /tmp/asserts.js "$source") >/dev/null 2>&1 </dev/null
  then echo 1; else echo 0; fi
done
"""
"""In node, console.assert only prints."""

_JAVA = Path(__file__).with_name("Passed.java").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The way in which programs of one language are run.

    Attributes:
        name: of the compiler or interpreter.
        source: name of a program's file, from its number.
        command: of the sandbox, from the path of the tool and the files.
        files: further files that the command needs.
    """

    name: str
    source: Callable[[int], str]
    command: Callable[[Path, Sequence[str]], Sequence[str]]
    files: Mapping[str, str]

    def tool(self) -> Path:
        """Return the path of the compiler or interpreter.

        Raises:
            SandboxUnavailable: it is not installed among the system's programs.
        """
        command = shutil.which(self.name)
        path = command and Path(command).resolve()
        if not path or not path.is_relative_to(_SYSTEM):
            raise SandboxUnavailable(f"tests need {self.name} below {_SYSTEM}, which is not there: nothing was run")
        return path

    def visible(self) -> tuple[Path, ...]:
        """Return what the sandbox has to see: the system, and the folder below /etc that Java's files point into."""
        home = self.tool().parents[1]
        linked = [*home.glob("lib/*"), *home.glob("conf/*")] if self.name == "javac" else []
        targets = [path.resolve() for path in linked if path.is_symlink()]
        settings = {Path(*path.parts[:3]) for path in targets if path.is_relative_to("/etc") and path.exists()}
        return (_SYSTEM, *sorted(settings))


def _shell(script: str) -> Callable[[Path, Sequence[str]], Sequence[str]]:
    return lambda _tool, sources: ["/usr/bin/sh", "-c", script, "sh", *sources]


def _java(tool: Path, sources: Sequence[str]) -> Sequence[str]:
    home = tool.parents[1]
    options = ("-XX:+UseSerialGC", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
    # without /proc the libraries of Java do not find each other
    libraries = f"LD_LIBRARY_PATH={home}/lib:{home}/lib/server"
    return ["/usr/bin/env", libraries, f"{home}/bin/java", *options, "Passed.java", *sources]


_BY_PROGRAM = {
    toolchain.name: toolchain
    for toolchain in (
        Toolchain("gcc", source="program_{}.c".format, command=_shell(_NATIVE.format(compiler="gcc")), files={}),
        Toolchain("g++", source="program_{}.cpp".format, command=_shell(_NATIVE.format(compiler="g++")), files={}),
        Toolchain("node", source="program_{}.js".format, command=_shell(_NODE), files={}),
        Toolchain("javac", source="program_{}/Main.java".format, command=_java, files={"Passed.java": _JAVA}),
    )
}

TOOLCHAINS: Mapping[str, Toolchain] = MappingProxyType(
    {name: _BY_PROGRAM[lang.runner] for name, lang in LANGUAGES.items() if lang.runner in _BY_PROGRAM}
)
"""By language, whose entry in the table of languages names the program. Python runs under this interpreter."""


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
    limits: Limits | None = None,
    packages: Sequence[Path] = (),
) -> tuple[bool, ...]:
    """Return for each program whether it compiles and ends by itself with exit code 0; they run one after another.

    All share one sandbox and its wall time; programs that it leaves no time for have not passed. They are guarded
    against accidents, not against each other: a hostile program can stop those after it, or write their results. Each
    has a process of its own, but those in Java, which share one.

    Args:
        programs: whole programs, tests included; in Java, with a class Main.
        language: one of `languages_with("tests")`; all but Python by this machine's own tools.
        limits: of the sandbox; the processor time is each program's, or its compiler's. By default those of the
            language: compilers and virtual machines need more than Python does.
        packages: folders that programs in Python import from.

    Raises:
        ValueError: there is no toolchain for that language.
        SandboxUnavailable: see `run_python`; or the compiler or interpreter is not installed.
    """
    if language == "python":
        # as bytes: programs with \r\n keep it
        sources = {f"program_{index}.py": program.encode() for index, program in enumerate(programs)}
        allowed = limits or DEFAULT_LIMITS
        execution = run_python(_DRIVER, files=sources, arguments=list(sources), packages=packages, limits=allowed)
    else:
        tools = TOOLCHAINS.get(language)
        if tools is None:
            raise ValueError(f"received the language {language!r}, expected one of {['python', *TOOLCHAINS]}")
        sources = {tools.source(index): program.encode() for index, program in enumerate(programs)}
        execution = run_command(
            tools.command(tools.tool(), list(sources)),
            files={**tools.files, **sources},
            visible=tools.visible(),
            limits=limits or TOOLCHAIN_LIMITS,
        )
    # programs that the end of the sandbox cut off have no line, and more lines than programs are a program's own
    outcomes = [line == "1" for line in execution.stdout.split()]
    return (*outcomes, *[False] * (len(programs) - len(outcomes)))[: len(programs)]


def failure_of(program: str, *, limits: Limits | None = None, packages: Sequence[Path] = ()) -> str:
    """Return the last line that a program in Python writes before it fails; a reason without one, as the time.

    Args:
        program: the whole of it, tests included.
        limits: of the sandbox.
        packages: folders that it imports from.

    Raises:
        SandboxUnavailable: see `run_python`.
    """
    execution = run_python(program, packages=packages, limits=limits or DEFAULT_LIMITS)
    if execution.timed_out:
        return "it took too long"
    if execution.signal is not None:
        return f"signal {execution.signal} ended it"
    # the last line of a traceback names the exception
    return next(reversed(execution.stderr.strip().splitlines()), f"exit code {execution.exit_code}")
