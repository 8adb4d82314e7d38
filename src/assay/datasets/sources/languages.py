"""Programming languages by file suffix."""

from pathlib import PurePath

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".pyx": "cython",
    ".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".groovy": "groovy",
    ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    ".cs": "csharp", ".fs": "fsharp", ".vb": "visual-basic",
    ".go": "go", ".rs": "rust", ".zig": "zig", ".swift": "swift", ".m": "objective-c", ".mm": "objective-c",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript",
    ".rb": "ruby", ".php": "php", ".pl": "perl", ".pm": "perl", ".lua": "lua", ".r": "r", ".jl": "julia",
    ".hs": "haskell", ".ml": "ocaml", ".mli": "ocaml", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang",
    ".clj": "clojure", ".dart": "dart", ".sh": "shell", ".bash": "shell", ".ps1": "powershell", ".sql": "sql",
    ".f": "fortran", ".f90": "fortran", ".f95": "fortran", ".sol": "solidity", ".v": "verilog",
}  # fmt: skip
"""Suffix → language, as `Sample.language` spells it. A header `.h` counts as C: its name cannot tell."""

ALIASES = {
    "js": "javascript",
    "c++": "cpp",
    "py": "python",
    "golang": "go",
    "ts": "typescript",
    "c#": "csharp",
}
"""Other spellings that are understood."""


def language_of(path: str) -> str | None:
    """The language that a file's suffix names, or None."""
    return LANGUAGES.get(PurePath(path).suffix.lower())


def language_named(name: str) -> str:
    """The one spelling of a language name: "JS" and "JavaScript" are both "javascript"."""
    return ALIASES.get(name.casefold(), name.casefold())
