"""The places that a call of a tool reads and writes, from its text alone: nothing is executed.

    git show, git log …                          history
    curl, wget, gh, a tool that opens a page     network
    a path in site-packages, node_modules …      another installation
    a path outside the repository                a file outside, unless the agent wrote it
    a test file                                  the tests

Where a command brings foreign text into a file (`curl -o`, `git show REV:FILE > copy`), the file keeps the channel.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from assay.agent_runs.run_values import SHELL_ARGUMENTS, Step

ReadingChannel = Literal[
    "history beyond the base commit",
    "network",
    "another installation of the package",
    "a file outside the repository",
    "the tests",
    "the working tree",
]
HISTORY: ReadingChannel = "history beyond the base commit"
NETWORK: ReadingChannel = "network"
INSTALLED: ReadingChannel = "another installation of the package"
OUTSIDE: ReadingChannel = "a file outside the repository"
TESTS: ReadingChannel = "the tests"
TREE: ReadingChannel = "the working tree"
CHANNELS: tuple[ReadingChannel, ...] = (HISTORY, NETWORK, INSTALLED, OUTSIDE, TESTS, TREE)

_HEREDOC = re.compile(r"<<-?\s*(['\"\\]?)(\w+)['\"]?([^\n]*)\n(.*?)(?:\n[ \t]*\2(?![\w])|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\|&;()<>`]|(?<=[^\s])[<>](?=\())+)"""
    r"""|(?P<redirect>\d?>>?|&>>?)|(?P<end>\|\||&&|[|&;()\n`])|(?P<other><<<|<|['"\\])""",
    re.DOTALL,
)
_NAMED = re.compile(r"(/[^\s:]+\.\w+)[:-]\d+[:-]")
_QUOTES = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", re.DOTALL)
_INSTALLED = re.compile(
    r"site-packages|dist-packages|node_modules/|\.cargo/registry|/pkg/mod/|/\.m2/|/gems/|/lib/python\d|/lib/ruby/|"
    r"/pkgs/|/conda-meta/|\.(?:whl|egg|tar\.gz|tgz|zip|jar|crate|gem)/?$"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?)/|(?:^|/)(?:tests?_[^/]*|[^/]*_tests?\.\w+|[^/]*\.(?:test|spec)\.\w+|"
    r"tests?\.\w+|conftest\.py|[A-Z]\w*Tests?\.\w+)$"
)
_PATH_LIKE = re.compile(r"/|\.\w{1,5}$|-packages")
_URL = re.compile(r"(?:https?|git|ssh)://|^git@")
_REMOTE_CODE = re.compile(r"urlopen|requests\.(?:get|post)|httpx|urllib3|http\.client|fetch\(|axios|aiohttp")
_WRITING_CODE = re.compile(
    r"""open\([^)\n]*,\s*(?:mode\s*=\s*)?['"][wax+]|write_text|write_bytes|\.write\(|writelines|shutil\.|os\.rename|"""
    r"""os\.replace|writeFile|File\.write|fileinput"""
)
_QUOTED_PATH = re.compile(r"""['"](~?/?[\w.@+-]+(?:/[\w.@+-]+)+|[\w.@+-]+\.\w{1,5})['"]""")
_SHA = re.compile(r"[0-9a-f]{7,40}(?:[\^~]\d*)*$")
_REVISION = re.compile(
    r"(?:[0-9a-f]{7,40}|FETCH_HEAD|ORIG_HEAD|stash(?:@\{\d+\})?|HEAD(?:@\{\d+\})?|v?\d+(?:\.\d+)+\w*|"
    r"(?:origin|upstream|refs|remotes|tags|heads)/\S+|main|master|develop|dev|trunk|next|stable/\S+)(?:[\^~]\d*)*$"
)
_OWN_REVISION = re.compile(r"(?:HEAD|@|stash)(?:[\^~@{}\d]*)$")
_WRAPPERS = {
    "sudo",
    "env",
    "time",
    "nohup",
    "timeout",
    "xargs",
    "command",
    "exec",
    "nice",
    "then",
    "do",
    "else",
    "if",
    "!",
}
_SHELLS = {"bash", "sh", "zsh", "dash"}
_REMOTE = {"curl", "wget", "gh", "http", "lynx", "w3m", "aria2c", "links"}
_SEARCHING = {"find", "unzip", "tar", "bsdtar"}
_HISTORY = {"show", "log", "whatchanged", "format-patch", "cat-file", "reflog", "range-diff", "archive"}
_OF_TREE = {"grep", "blame", "annotate"}
_FETCHING = {"clone", "fetch", "pull", "ls-remote", "submodule"}
_TAKING = {"checkout", "restore", "cherry-pick", "merge", "rebase", "reset", "switch", "read-tree"}
_WEB_TOOLS = re.compile(r"web|browse|fetch|http|url|internet|crawl|search_engine|goto_page", re.IGNORECASE)
_EDIT_TOOLS = re.compile(r"edit|write|create|insert|replace|patch|notebook", re.IGNORECASE)
_PATH_ARGUMENTS = ("path", "file_path", "filename", "file", "target_file", "notebook_path", "relative_path", "abs_path")
_CODE_ARGUMENTS = ("code", "script", "source")
MOST_SHELLS = 3
"""Shells within shells that are followed."""


@dataclass(frozen=True, slots=True)
class ForeignPlace:
    """A place that a call reads, outside of what the working tree held at first.

    Attributes:
        channel: of the place.
        place: path, address or revision.
        sign: of the lines of a diff that come from there; "" for any.
    """

    channel: ReadingChannel
    place: str
    sign: str = ""


@dataclass(slots=True)
class Effects:
    """Effects of one call.

    Attributes:
        reads: foreign places.
        mixes_own: True where its output may hold the agent's own changes too.
        tree_paths: files of the working tree that it reads.
        edits: True where it may change the working tree.
        takes: foreign text that it brings into the working tree without showing it.
    """

    reads: list[ForeignPlace] = field(default_factory=list)
    mixes_own: bool = False
    tree_paths: list[str] = field(default_factory=list)
    edits: bool = False
    takes: ForeignPlace | None = None


@dataclass(slots=True)
class FileState:
    """State of the files during a run.

    Attributes:
        root: folder of the repository; "" where unknown.
        folder: the working folder.
        written: paths that the agent wrote.
        origins: path or folder → channel of its text.
        messages: of the agent's own commits.
    """

    root: str = ""
    folder: str = ""
    written: set[str] = field(default_factory=set)
    origins: dict[str, ReadingChannel] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def absolute(self, path: str) -> str:
        """Return a path without dots, from the root of the file system where that is known."""
        if path.startswith("~"):
            return "/root" + path[1:]
        return posixpath.normpath(posixpath.join(self.folder or self.root, path))

    def channel_of(self, path: str) -> ReadingChannel | None:
        """Return the channel of a file; None for a file of the working tree, or one that the agent wrote."""
        full = self.absolute(path)
        if full in self.written:
            return None
        for place, channel in self.origins.items():
            if full == place or full.startswith(place + "/"):
                return channel
        if _INSTALLED.search(full + "/"):
            return INSTALLED
        outside = full.startswith(("/", "..")) and bool(self.root) and not (full + "/").startswith(self.root + "/")
        if outside and full.startswith(("/dev/", "/proc/", "/sys/", "/bin/", "/usr/bin/")):
            return None
        if _TESTS.search(full.removeprefix(self.root)):
            return TESTS
        return OUTSIDE if outside else None

    def write(self, path: str, channel: ReadingChannel | None = None) -> None:
        """Note that a file was written by the agent, or filled through a channel."""
        full = self.absolute(path)
        if channel is None:
            self.written.add(full)
            self.origins.pop(full, None)
        else:
            self.origins[full] = channel
            self.written.discard(full)

    def in_tree(self, path: str) -> bool:
        """Return True for a path in the repository."""
        full = self.absolute(path)
        return not full.startswith(("/", "..")) or (full + "/").startswith((self.root or "/testbed") + "/")


def foreign_part(output: str, state: FileState) -> str:
    """Return an output without the lines that name a file of the working tree before them, as grep does."""
    rows = output.splitlines()
    named = [(row, _NAMED.match(row)) for row in rows]
    if not any(match for _, match in named):
        return output
    return "\n".join(row for row, match in named if match is None or state.channel_of(match[1]) is not None)


def effects_of(step: Step, state: FileState) -> Effects:
    """Return what a call does, and note in `state` what it does to files."""
    effects = Effects()
    state.folder = step.folder or state.folder or state.root
    shell = next((step.arguments[name] for name in SHELL_ARGUMENTS if name in step.arguments), "")
    path = next((step.arguments[name] for name in _PATH_ARGUMENTS if name in step.arguments), "")
    if _WRITING_CODE.search(step.typed):
        # a script that is only written here may run later
        for name in _QUOTED_PATH.findall(step.typed):
            if name.startswith(("/", "~")) and not _INSTALLED.search(name):
                state.write(name)
    # an editor has its operation where a terminal has a command: {"command": "view", "path": …}
    if path and " " not in shell.strip():
        writes = bool(_EDIT_TOOLS.search(shell or step.tool)) and shell != "view"
        (_edit if writes else _read)(path, state, effects)
    elif shell.lstrip().startswith("*** Begin Patch") or step.tool == "apply_patch":
        for name in re.findall(r"\*\*\* (?:Add|Update|Delete) File: (.+)", shell or step.typed):
            _edit(name.strip(), state, effects)
    else:
        _call(step, shell, state, effects)
    return effects


def _call(step: Step, shell: str, state: FileState, effects: Effects) -> None:
    """Follow a call of a shell, of an interpreter, or of a tool that opens pages."""
    for name in _CODE_ARGUMENTS:
        _code(step.arguments.get(name, ""), state, effects)
    others = [text.strip() for text in step.arguments.values() if text != shell]
    address = next(filter(_URL.match, others), step.command if _WEB_TOOLS.search(step.tool) and not shell else "")
    if address:
        effects.reads.append(ForeignPlace(NETWORK, address))
    _shell(shell, state, effects)
    for shown in re.findall(r"^\[File: (\S+) \(\d+ lines total\)\]", step.output, re.MULTILINE):
        _read(shown, state, effects)


def _edit(path: str, state: FileState, effects: Effects) -> None:
    effects.edits |= state.in_tree(path)
    effects.mixes_own = True
    if state.channel_of(path) in {None, TESTS, OUTSIDE}:
        state.write(path)


def _read(path: str, state: FileState, effects: Effects) -> None:
    channel = state.channel_of(path)
    if channel is not None:
        effects.reads.append(ForeignPlace(channel, path))
    if state.absolute(path) in state.written:
        effects.mixes_own = True
    elif channel in {None, TESTS}:
        effects.tree_paths.append(path)


def _shell(text: str, state: FileState, effects: Effects, depth: int = 0) -> None:
    """Follow the commands of a shell in their order."""
    bodies: list[str] = []

    def keep(match: re.Match[str]) -> str:
        bodies.append(match[4])
        return f" \x00{len(bodies) - 1} {match[3]}\n"

    start = state.folder
    text = _HEREDOC.sub(keep, text) if "<<" in text else text
    for words, targets, piped in _commands(text):
        documents = [bodies[int(word[1:])] for word in words if word[:1] == "\x00" and word[1:].isdigit()]
        words = [word for word in words if word[:1] != "\x00"]  # noqa: PLW2901  without the documents
        before = len(effects.reads)
        if words:
            _command(words, state, effects, documents=documents, depth=depth, piped=piped)
        new = effects.reads[before:]
        for target in targets:
            if target.startswith(("/dev/", "&")):
                continue
            if new and state.in_tree(target) and not target.endswith((".txt", ".diff", ".patch", ".log")):
                effects.takes = new[0]
            effects.edits |= state.in_tree(target)
            state.write(target, new[0].channel if new else None)
            # what went into the file is not shown
            del effects.reads[before:]
    if depth:
        state.folder = start


def _commands(text: str) -> Iterator[tuple[list[str], list[str], bool]]:
    """Yield words and redirection targets of each simple command, and True where it reads from a pipe."""
    words: list[str] = []
    targets: list[str] = []
    redirected = piped = False
    for match in _TOKEN.finditer(text):
        kind, text_of_kind = match.lastgroup, match[0]
        if kind == "word":
            (targets if redirected else words).append(_QUOTES.sub(_unquoted, text_of_kind))
            redirected = False
        elif kind == "redirect":
            # 2>&1 duplicates a stream and names no file; the standard error is no copy of what is read
            redirected = text[match.end() : match.end() + 1] != "&" and not text_of_kind.startswith("2")
        elif kind == "end":
            if words or targets:
                yield words, targets, piped
            words, targets, redirected, piped = [], [], False, text_of_kind == "|"
    if words or targets:
        yield words, targets, piped


def _unquoted(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    return re.sub(r"\\([\"\\$`])", r"\1", match[2]) if match[2] is not None else match[3]


def _command(
    words: list[str], state: FileState, effects: Effects, *, documents: Sequence[str], depth: int, piped: bool
) -> None:
    while words and (words[0] in _WRAPPERS or re.fullmatch(r"\w+=.*|\d+[smh]?", words[0], re.DOTALL)):
        words = words[1:]
    if not words:
        return
    program, arguments = posixpath.basename(words[0]), words[1:]
    plain = [word for word in arguments if not word.startswith("-")]
    if program in _SHELLS and plain and {"-c", "-lc"} & set(arguments):
        if depth < MOST_SHELLS:
            _shell(plain[0], state, effects, depth + 1)
    elif program in {"sed", "perl"} and any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments):
        _patch(arguments, state, effects)
    elif words[1:3] == ["-m", "pip"]:
        _pip(arguments, state, effects)
    elif program in PROGRAMS:
        PROGRAMS[program](arguments, state, effects)
    elif program in _REMOTE:
        _remote(program, arguments, state, effects)
    else:
        _program(program, arguments, state, effects, documents=documents, piped=piped)


def _change_folder(arguments: Sequence[str], state: FileState, _effects: Effects) -> None:
    folder = next(iter(arguments), "-")
    state.folder = state.root if folder == "-" else state.absolute(folder)


def _editor_command(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    """Follow the editor of SWE-agent, whose operation stands before the path."""
    if len(arguments) > 1:
        (_read if arguments[0] == "view" else _edit)(arguments[1], state, effects)


def _first_edited(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    """Follow a command of SWE-agent that edits the file that it names, or the open one."""
    if arguments:
        _edit(arguments[0], state, effects)


def _write(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    for path in _plain(arguments):
        state.write(path)
        effects.edits |= state.in_tree(path)


def _patch(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    """Follow a command that changes files in their places, or applies a patch file."""
    effects.edits = True
    paths = _plain(arguments)
    for path in paths:
        channel = state.channel_of(path)
        if channel is not None and channel != TESTS and path.endswith((".patch", ".diff")):
            effects.takes = ForeignPlace(channel, path)
        elif path in paths[1:] and not state.in_tree(path):
            state.write(path)


def _compare(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    """Follow diff: of a foreign file and one of the tree the lines of the foreign side count."""
    paths = _plain(arguments)[:2]
    channels = list(map(state.channel_of, paths))
    foreign = [number for number, channel in enumerate(channels) if channel not in {None, TESTS}]
    if len(paths) > 1 and len(foreign) == 1:
        channel = channels[foreign[0]] or OUTSIDE
        effects.reads.append(ForeignPlace(channel, paths[foreign[0]], sign="-+"[foreign[0]]))
        return
    for path in paths:
        _read(path, state, effects)


def _plain(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if not word.startswith("-")]


def _program(
    program: str, arguments: Sequence[str], state: FileState, effects: Effects, *, documents: Sequence[str], piped: bool
) -> None:
    """Follow any other program: its arguments that look like paths are read, its scripts are searched."""
    interprets = program.startswith(("python", "ipython", "node", "ruby", "perl"))
    for document in documents:
        if interprets:
            _code(document, state, effects)
    for number, word in enumerate(arguments):
        if interprets and number and arguments[number - 1] in {"-c", "-e"}:
            _code(word, state, effects)
        elif _URL.match(word):
            effects.reads.append(ForeignPlace(NETWORK, word))
        elif not word.startswith("-") and _PATH_LIKE.search(word) and "\n" not in word:
            # the further words of an archiver are members of its archive, those of find are patterns
            names_foreign = program not in _SEARCHING or state.channel_of(word) not in {None, TESTS}
            if not interprets and names_foreign:
                _read(word, state, effects)
            elif interprets and state.in_tree(word) and not piped:
                # a script may print and write what it likes
                effects.mixes_own = effects.edits = True
    if not effects.reads and not effects.tree_paths:
        effects.mixes_own |= not piped and program not in {"echo", "ls", "pwd", "find", "which"}


def _code(code: str, state: FileState, effects: Effects) -> None:
    """Follow a program in an argument: paths and addresses in its quotes."""
    if not code:
        return
    if _REMOTE_CODE.search(code):
        effects.reads.append(ForeignPlace(NETWORK, next(iter(re.findall(r"https?://[^\s'\"]+", code)), "an address")))
        return
    paths = _QUOTED_PATH.findall(code)
    if _WRITING_CODE.search(code):
        effects.edits = effects.mixes_own = True
        for path in paths:
            state.write(path)
        return
    for path in paths:
        _read(path, state, effects)
    effects.mixes_own |= "print" in code and not effects.reads


def _git(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    words = list(arguments)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-C", "-c", "--git-dir", "--work-tree"} else words[1:]
    if not words:
        return
    verb, words = words[0], words[1:]
    before_paths = words[: words.index("--")] if "--" in words else words
    revisions = list(filter(_is_revision, _plain(before_paths)))
    foreign = [word for word in revisions if not _OWN_REVISION.match(word.partition(":")[0])]
    if verb == "commit":
        state.messages += [words[number + 1] for number, word in enumerate(words[:-1]) if word.endswith("m")]
    elif verb in _FETCHING:
        _fetch(verb, _plain(words), state, effects)
    elif verb == "worktree" and len(_plain(words)) > 1:
        state.write(_plain(words)[1], HISTORY)
    elif verb in _TAKING:
        effects.edits = True
        effects.takes = ForeignPlace(HISTORY, foreign[0]) if foreign else None
    elif verb in {"apply", "am"}:
        _patch(words, state, effects)
    elif verb in {"diff", "difftool"}:
        _diff(words, revisions=revisions, foreign=foreign, effects=effects)
    else:
        _history(verb, words, revisions=revisions, foreign=foreign, state=state, effects=effects)


def _history(
    verb: str,
    words: Sequence[str],
    *,
    revisions: Sequence[str],
    foreign: Sequence[str],
    state: FileState,
    effects: Effects,
) -> None:
    # HEAD is the agent's own commit, once it has made one
    is_own = bool(revisions) and bool(state.messages or "stash" in revisions[0])
    if verb == "stash" or ((verb in _OF_TREE or is_own) and not foreign):
        effects.mixes_own = True
        effects.edits |= verb == "stash"
    elif verb in _HISTORY | _OF_TREE:
        effects.reads.append(ForeignPlace(HISTORY, " ".join(["git", verb, *words])))


def _fetch(verb: str, plain: Sequence[str], state: FileState, effects: Effects) -> None:
    effects.reads.append(ForeignPlace(NETWORK, " ".join(["git", verb, *plain])))
    if verb == "clone" and plain:
        state.write(plain[1] if len(plain) > 1 else posixpath.basename(plain[0]).removesuffix(".git"), NETWORK)
    if verb == "pull":
        effects.takes, effects.edits = ForeignPlace(NETWORK, "git pull"), True


def _diff(words: Sequence[str], *, revisions: Sequence[str], foreign: Sequence[str], effects: Effects) -> None:
    """Follow a diff; where its new side is the working tree or HEAD, the agent's own lines are the added ones."""
    if not foreign:
        effects.mixes_own = True
        return
    sides = list(chain.from_iterable(word.replace("...", "..").split("..") for word in revisions))
    is_own = len(sides) == 1 or not sides[-1] or bool(_OWN_REVISION.match(sides[-1]))
    effects.reads.append(ForeignPlace(HISTORY, " ".join(["git", "diff", *words]), sign="-" if is_own else ""))


def _is_revision(word: str) -> bool:
    name = word.partition(":")[0]
    return ".." in name.strip("./") or bool(_REVISION.match(name) or _SHA.match(name))


def _remote(program: str, arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    address = next((word for word in arguments if _URL.match(word) or "." in word), " ".join(arguments))
    effects.reads.append(ForeignPlace(NETWORK, address))
    options = {"curl": {"-o", "--output"}, "wget": {"-O", "--output-document"}}.get(program, {"-o", "--output"})
    target = next((arguments[n + 1] for n, word in enumerate(arguments[:-1]) if word in options), "")
    if not target and ((program == "wget" and "-qO-" not in arguments and "-O-" not in arguments) or "-O" in arguments):
        target = posixpath.basename(address)
    if target and target != "-":
        state.write(target, NETWORK)
        if state.in_tree(target) and "." in target and not target.endswith((".txt", ".diff", ".patch", ".json")):
            effects.takes = ForeignPlace(NETWORK, address)


def _pip(arguments: Sequence[str], state: FileState, _effects: Effects) -> None:
    options = {"-t", "--target", "-d", "--dest", "--prefix", "--root"}
    for number, word in enumerate(arguments[:-1]):
        if word in options:
            state.write(arguments[number + 1], INSTALLED)
    if "download" in arguments and not options & set(arguments) and not state.in_tree("."):
        state.write(".", INSTALLED)


def _copy(arguments: Sequence[str], state: FileState, effects: Effects) -> None:
    *sources, target = _plain(arguments) or [""]
    if not sources:
        return
    channels = [channel for path in sources if (channel := state.channel_of(path)) not in {None, TESTS}]
    names = [target, *(posixpath.join(target, posixpath.basename(source)) for source in sources)]
    for name in names:
        state.write(name, channels[0] if channels else None)
    if state.in_tree(target):
        effects.edits = True
        effects.takes = ForeignPlace(channels[0], sources[0]) if channels and channels[0] else effects.takes


PROGRAMS: Mapping[str, Callable[[Sequence[str], FileState, Effects], None]] = {
    "cd": _change_folder,
    "git": _git,
    **dict.fromkeys(("pip", "pip3", "uv"), _pip),
    **dict.fromkeys(("edit", "insert", "create", "str_replace", "undo_edit"), _first_edited),
    "str_replace_editor": _editor_command,
    "diff": _compare,
    **dict.fromkeys(("tee", "touch", "truncate"), _write),
    **dict.fromkeys(("cp", "mv", "install", "ln", "rsync"), _copy),
    **dict.fromkeys(("patch", "ed", "ex"), _patch),
}
"""Program → what follows a call of it."""
