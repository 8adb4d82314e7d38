"""Compilers and interpreters of other languages, as scripts that tell of each of many programs whether it passed.

They are those of this machine, seen read-only from within the sandbox. One sandbox serves many programs.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.code.sandbox.execution import Limits
from assay.errors import SandboxUnavailable

_SYSTEM = Path("/usr")
_GIB = 1 << 30
LIMITS = Limits(wall_seconds=300, cpu_seconds=120, memory=64 * _GIB, processes=256, file_size=_GIB // 4, scratch=_GIB)
"""Address space is wide, for these runtimes reserve far more than they use; the scripts bound what is used."""

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

_JAVA = """
import java.io.*;
import java.lang.reflect.*;
import java.net.*;
import java.nio.file.*;
import java.util.concurrent.*;
import javax.tools.*;

public class Passed {
    public static void main(String[] sources) throws Exception {
        PrintStream said = System.out;
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
        System.setOut(nowhere);
        System.setErr(nowhere);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        for (int index = 0; index < sources.length; index++) {
            Path classes = Files.createDirectories(Path.of("/tmp/classes" + index));
            String[] given = {"-nowarn", "-proc:none", "-d", classes.toString(), sources[index]};
            said.println(compiler.run(null, nowhere, nowhere, given) == 0 && ends(classes) ? 1 : 0);
            said.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static boolean ends(Path classes) throws Exception {
        FutureTask<Boolean> task = new FutureTask<>(() -> {
            try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
                Method main = loader.loadClass("Main").getMethod("main", String[].class);
                main.setAccessible(true);
                main.invoke(null, (Object) new String[0]);
                return true;
            } catch (Throwable failure) {
                return false;
            }
        });
        Thread thread = new Thread(null, task, "program", 64L << 20);
        thread.setDaemon(true);
        thread.start();
        try {
            return task.get(10, TimeUnit.SECONDS);
        } catch (TimeoutException endless) {
            return false;
        }
    }
}
"""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How programs of one language are run.

    Attributes:
        name: of the compiler or interpreter.
        source: a program's file, from its number.
        command: of the sandbox, from the path of the tool and the files.
        files: that the command needs besides.
    """

    name: str
    source: Callable[[int], str]
    command: Callable[[Path, Sequence[str]], Sequence[str]]
    files: Mapping[str, str]

    def tool(self) -> Path:
        """Where it is.

        Raises:
            SandboxUnavailable: it is not installed among the system's programs.
        """
        found = shutil.which(self.name)
        path = Path(found).resolve() if found else None
        if path is None or not path.is_relative_to(_SYSTEM):
            raise SandboxUnavailable(f"tests need {self.name} below {_SYSTEM}, which is not there: nothing was run")
        return path

    def visible(self) -> tuple[Path, ...]:
        """What the sandbox has to see: the system; and the folder below /etc that Java's own files point into."""
        home = self.tool().parents[1]
        linked = [*home.glob("lib/*"), *home.glob("conf/*")] if self.name == "javac" else []
        targets = [one.resolve() for one in linked if one.is_symlink()]
        settings = {Path(*one.parts[:3]) for one in targets if one.is_relative_to("/etc") and one.exists()}
        return (_SYSTEM, *sorted(settings))


def _shell(script: str) -> Callable[[Path, Sequence[str]], Sequence[str]]:
    return lambda _tool, sources: ["/usr/bin/sh", "-c", script, "sh", *sources]


def _java(tool: Path, sources: Sequence[str]) -> Sequence[str]:
    home = tool.parents[1]
    options = ("-XX:+UseSerialGC", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
    # without /proc its libraries do not find each other
    libraries = f"LD_LIBRARY_PATH={home}/lib:{home}/lib/server"
    return ["/usr/bin/env", libraries, f"{home}/bin/java", *options, "Passed.java", *sources]


TOOLCHAINS: Mapping[str, Toolchain] = MappingProxyType(
    {
        "c": Toolchain("gcc", "program_{}.c".format, _shell(_NATIVE.format(compiler="gcc")), {}),
        "cpp": Toolchain("g++", "program_{}.cpp".format, _shell(_NATIVE.format(compiler="g++")), {}),
        "javascript": Toolchain("node", "program_{}.js".format, _shell(_NODE), {}),
        "java": Toolchain("javac", "program_{}/Main.java".format, _java, {"Passed.java": _JAVA}),
    }
)
"""By language. There is none for Go."""
