"""The places that a call of a tool reads and writes, from its text alone: nothing is executed.

    git show, git log …                          history
    curl, wget, gh, a tool that opens a page     network
    any path                                     see `foreign_places`

Where a command brings foreign text into a file (`curl -o`, `git show REV:FILE > copy`), the file keeps the channel.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, dropwhile, filterfalse, pairwise, takewhile
from operator import methodcaller

from assay.agent_runs.foreign_places import HISTORY, INSTALLED, NETWORK, OUTSIDE, TESTS, FileState, ForeignPlace
from assay.agent_runs.run_values import SHELL_ARGUMENTS, Step
from assay.agent_runs.shell import ShellCommand, shell_commands

_PATH_LIKE = re.compile(r"/|\.\w{1,5}$|-packages")
_PATCH_BEGINS = "*** Begin Patch"
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)")
_OPENED = re.compile(r"^\[File: (\S+) \(\d+ lines total\)\]", re.MULTILINE)
_URL = re.compile(r"(?:https?|git|ssh)://|^git@")
_MESSAGE = re.compile(r"-[a-zA-Z]*m|--message")
_REMOTE_CODE = re.compile(r"urlopen|requests\.(?:get|post)|httpx|urllib3|http\.client|fetch\(|axios|aiohttp")
_WRITING_CODE = re.compile(
    r"""open\([^)\n]*,\s*(?:mode\s*=\s*)?['"][wax+]|write_text|write_bytes|\.write\(|writelines|shutil\.|os\.rename|"""
    r"""os\.replace|writeFile|File\.write|fileinput"""
)
_QUOTED_PATH = re.compile(r"""['"](~?/?[\w.@+-]+(?:/[\w.@+-]+)+|[\w.@+-]+\.\w{1,5})['"]""")
_RUNNING_CODE = re.compile(r"subprocess|os\.system|popen|exec_command|execSync|spawn|child_process|shell|check_output")
_QUOTED = re.compile(r"""['"`]((?:\\.|[^'"`\\\n])+)['"`]""")
_LIST_OF_WORDS = re.compile(r"""\[\s*((?:['"][^'"\n]+['"]\s*,?\s*){2,})\]""")
_COMMAND = re.compile(r"(?:cd \S+ *&& *)?(?:git|curl|wget|gh|pip|cat|sed|head|tail|grep|rg|diff|find) \S")
_SHA = re.compile(r"[0-9a-f]{7,40}(?:[\^~]\d*)*$")
_REVISION = re.compile(
    r"(?:[0-9a-f]{7,40}|FETCH_HEAD|ORIG_HEAD|stash(?:@\{\d+\})?|HEAD(?:@\{\d+\})?|v?\d+(?:\.\d+)+\w*|"
    r"(?:origin|upstream|refs|remotes|tags|heads)/\S+|main|master|develop|dev|trunk|next|stable/\S+)(?:[\^~]\d*)*$"
)
# HEAD and the stash may hold what the agent wrote itself, so they are no foreign revisions
_OWN_REVISION = re.compile(r"(?:HEAD|@|stash)(?:[\^~@{}\d]*)$")
_WRAPPERS = {"sudo", "env", "time", "nohup", "timeout", "xargs", "command", "exec", "nice"}
_WRAPPERS |= {"then", "do", "else", "if", "!"}
# settings, times, options and placeholders: `X=1 timeout 30s xargs -I{} program`
_BEFORE_PROGRAM = re.compile(r"\w+=.*|\d+[smh]?|-.*|\{\}", re.DOTALL)
_SHELLS = {"bash", "sh", "zsh", "dash"}
_REMOTE = {"curl", "wget", "gh", "http", "lynx", "w3m", "aria2c", "links"}
_SEARCHING = {"find", "unzip", "tar", "bsdtar"}
_HISTORY = {"show", "log", "whatchanged", "format-patch", "cat-file", "reflog", "range-diff", "archive"}
_TRANSPORT = {"clone", "fetch", "pull", "ls-remote", "submodule"}
_ITS_VALUE = re.compile(r"(?<=^--git-dir)=|(?<=^--work-tree)=")
_OF_TREE = {"grep", "blame", "annotate"}
_INTERPRETERS = ("python", "ipython", "node", "ruby", "perl")
_SILENT = {"echo", "ls", "pwd", "find", "which"}
_PIP_TARGETS = {"-t", "--target", "-d", "--dest", "--prefix", "--root"}
_DATA = (".txt", ".diff", ".patch", ".json")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_WEB_TOOLS = re.compile(r"web|browse|fetch|http|url|internet|crawl|search_engine|goto_page", re.IGNORECASE)
_EDIT_TOOLS = re.compile(r"edit|write|create|insert|replace|patch|notebook", re.IGNORECASE)
_PATH_ARGUMENTS = ("path", "file_path", "filename", "file", "target_file", "notebook_path", "relative_path", "abs_path")
_CODE_ARGUMENTS = ("code", "script", "source")
MOST_SHELLS = 3
"""Shells within shells that are followed."""


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


def effects_of(step: Step, state: FileState) -> Effects:
    """Return what a call does, and note in `state` what it does to files."""
    # a shell keeps its folder from call to call, where the file does not say it anew
    state.folder = step.folder or state.folder or state.root
    call = _Call(state)
    call.note_script(step.typed)
    call.follow(step)
    return call.effects


@dataclass(frozen=True)
class _Git:
    """Verb of git, the words after it, and the revisions among them."""

    verb: str
    words: list[str]

    @property
    def text(self) -> str:
        return " ".join(["git", self.verb, *self.words])

    @cached_property
    def revisions(self) -> list[str]:
        # behind `--` stand paths, whatever they look like
        words = takewhile("--".__ne__, self.words)
        return list(filter(_is_revision, _plain(map(methodcaller("removeprefix", "--source="), words))))

    @cached_property
    def foreign(self) -> list[str]:
        return [word for word in self.revisions if not _OWN_REVISION.match(word.partition(":")[0])]


@dataclass(slots=True)
class _Call:
    """A call while it is followed: the files before it, and its effects so far."""

    state: FileState
    effects: Effects = field(default_factory=Effects)

    def note_script(self, typed: str) -> None:
        """Note the files that a script names: one that is only written here may run later."""
        if _WRITING_CODE.search(typed):
            for name in _QUOTED_PATH.findall(typed):
                if name.startswith(("/", "~")) and self.state.channel_of(name) != INSTALLED:
                    self.state.write(name)

    def follow(self, step: Step) -> None:
        """Follow a call of an editor, or else of a terminal."""
        shell, path = step.first_of(SHELL_ARGUMENTS), step.first_of(_PATH_ARGUMENTS)
        # an editor has its operation where a terminal has a command: {"command": "view", "path": …}
        if path and " " not in shell.strip():
            writes = _EDIT_TOOLS.search(shell or step.tool) and shell != "view"
            (self.edit if writes else self.read)(path)
            return
        patch = step.typed * (_PATCH_BEGINS in step.typed)
        for name in _PATCHED.findall(patch):
            self.edit(name.strip())
        # a patch in a command of a shell stands among others, in a document or in quotes
        if not patch or not (shell.lstrip().startswith(_PATCH_BEGINS) or step.tool == "apply_patch"):
            self.terminal(step, shell)

    def terminal(self, step: Step, shell: str) -> None:
        """Follow a call of a shell, of an interpreter, or of a tool that opens pages."""
        for name in _CODE_ARGUMENTS:
            self.code(step.arguments.get(name, ""))
        others = [text.strip() for text in step.arguments.values() if text != shell]
        address = next(filter(_URL.match, others), "")
        if not address and not shell and _WEB_TOOLS.search(step.tool):
            address = step.command
        if address:
            self.effects.reads.append(ForeignPlace(NETWORK, address))
        self.shell(shell)
        for opened in _OPENED.findall(step.output):
            self.read(opened)

    def edit(self, path: str) -> None:
        self.effects.edits |= self.state.in_tree(path)
        self.effects.mixes_own = True
        # an edit of an installed package or of a fetched file leaves most of its text foreign
        if self.state.channel_of(path) in {None, TESTS, OUTSIDE} or self.state.in_tree(path):
            self.state.write(path)

    def read(self, path: str) -> None:
        channel = self.state.channel_of(path)
        if channel is not None:
            self.effects.reads.append(ForeignPlace(channel, path))
        if self.state.absolute(path) in self.state.written:
            self.effects.mixes_own = True
        elif channel in {None, TESTS}:
            self.effects.tree_paths.append(path)

    def shell(self, text: str, depth: int = 0) -> None:
        """Follow the commands of a shell in their order."""
        start = self.state.folder
        for command in shell_commands(text):
            before = len(self.effects.reads)
            if command.words:
                self.command(command, depth)
            self.redirect(command.targets, before)
        # a shell within a shell cannot change the folder of the one around it
        if depth:
            self.state.folder = start

    def redirect(self, targets: Sequence[str], before: int) -> None:
        """Give files the channel of what a command read: what went into a file is not shown."""
        new = self.effects.reads[before:]
        source: ForeignPlace | None = next(iter(new), None)
        for target in targets:
            if target.startswith(("/dev/", "&")):
                continue
            # a patch or a log in the tree is not code of it: it may be read later, and keeps its channel until then
            if source and self.state.in_tree(target) and not target.endswith((".txt", ".diff", ".patch", ".log")):
                self.effects.takes = source
            self.effects.edits |= self.state.in_tree(target)
            self.state.write(target, getattr(source, "channel", None))
            del self.effects.reads[before:]

    def command(self, command: ShellCommand, depth: int) -> None:
        words = list(dropwhile(_is_wrapper, command.words))
        if not words:
            return
        program, arguments = posixpath.basename(words[0]), words[1:]
        plain = _plain(arguments)
        if program in _SHELLS and plain and not {"-c", "-lc"}.isdisjoint(arguments):
            if depth < MOST_SHELLS:
                self.shell(plain[0], depth + 1)
        elif program in {"sed", "perl"} and any(map(_IN_PLACE.match, arguments)):
            self.patch(arguments)
        elif arguments[:2] == ["-m", "pip"]:
            self.pip(arguments)
        elif program in PROGRAMS:
            PROGRAMS[program](self, arguments)
        elif program in _REMOTE:
            self.remote(program, arguments)
        else:
            self.program(program, arguments, command)

    def change_folder(self, arguments: Sequence[str]) -> None:
        folder = next(iter(arguments), "-")
        self.state.folder = self.state.root if folder == "-" else self.state.absolute(folder)

    def editor_command(self, arguments: Sequence[str]) -> None:
        """Follow the editor of SWE-agent, whose operation stands before the path."""
        if len(arguments) > 1:
            (self.read if arguments[0] == "view" else self.edit)(arguments[1])

    def edit_first(self, arguments: Sequence[str]) -> None:
        """Follow a command of SWE-agent that edits the file that it names, or the open one."""
        for path in arguments[:1]:
            self.edit(path)

    def write(self, arguments: Sequence[str]) -> None:
        for path in _plain(arguments):
            self.state.write(path)
            self.effects.edits |= self.state.in_tree(path)

    def patch(self, arguments: Sequence[str]) -> None:
        """Follow a command that changes files in their places, or applies a patch file."""
        self.effects.edits = True
        paths = _plain(arguments)
        for path in paths:
            channel = self.state.channel_of(path)
            if channel is not None and channel != TESTS and path.endswith((".patch", ".diff")):
                self.effects.takes = ForeignPlace(channel, path)
            # the first argument of `sed -i` is its script
            elif path in paths[1:]:
                self.state.write(path)

    def compare(self, arguments: Sequence[str]) -> None:
        """Follow diff: of a foreign file and one of the tree the lines of the foreign side count."""
        paths = _plain(arguments)[:2]
        channels = list(map(self.state.channel_of, paths))
        foreign = [number for number, channel in enumerate(channels) if channel not in {None, TESTS}]
        if len(paths) > 1 and len(foreign) == 1:
            channel = channels[foreign[0]] or OUTSIDE
            self.effects.reads.append(ForeignPlace(channel, paths[foreign[0]], sign="-+"[foreign[0]]))
            return
        for path in paths:
            self.read(path)

    def program(self, program: str, arguments: Sequence[str], command: ShellCommand) -> None:
        """Follow any other program: its arguments that look like paths are read, its scripts are searched."""
        if program.startswith(_INTERPRETERS):
            self.interpret(arguments, command)
        else:
            self.read_arguments(program, arguments)
        if not self.effects.reads and not self.effects.tree_paths:
            # of `cat $(find …)` the files stand in the command that follows
            self.effects.mixes_own |= not command.piped and program not in _SILENT and "$" not in arguments

    def interpret(self, arguments: Sequence[str], command: ShellCommand) -> None:
        for document in command.documents:
            self.code(document)
        for before, word in pairwise(["", *arguments]):
            if before in {"-c", "-e"}:
                self.code(word)
            elif _URL.match(word):
                self.effects.reads.append(ForeignPlace(NETWORK, word))
            elif _is_path(word) and self.state.in_tree(word) and not command.piped:
                # a script may print and write what it likes
                self.effects.mixes_own = self.effects.edits = True

    def read_arguments(self, program: str, arguments: Sequence[str]) -> None:
        for word in arguments:
            if _URL.match(word):
                self.effects.reads.append(ForeignPlace(NETWORK, word))
            # the further words of an archiver are members of its archive, those of find are patterns
            elif _is_path(word) and (program not in _SEARCHING or self.state.channel_of(word) not in {None, TESTS}):
                self.read(word)

    def code(self, code: str) -> None:
        """Follow a program in an argument: paths and addresses in its quotes."""
        paths = _QUOTED_PATH.findall(code)
        if _RUNNING_CODE.search(code):
            listed = map(" ".join, map(_QUOTED.findall, _LIST_OF_WORDS.findall(code)))
            for text in filter(_COMMAND.match, chain(_QUOTED.findall(code), listed)):
                # at the last depth: shells that such a command starts are not followed
                self.shell(text, MOST_SHELLS)
        if _REMOTE_CODE.search(code):
            # `\Z` matches always, with nothing: the code may build its address
            address = re.search(r"https?://[^\s'\"]+|\Z", code)
            self.effects.reads.append(ForeignPlace(NETWORK, (address and address[0]) or "an address"))
        elif _WRITING_CODE.search(code):
            self.effects.edits = self.effects.mixes_own = True
            for path in paths:
                self.state.write(path)
        else:
            for path in paths:
                self.read(path)
            self.effects.mixes_own |= "print" in code and not self.effects.reads

    def git(self, arguments: Sequence[str]) -> None:
        # options of git itself stand before the verb, and some have a value
        words, start = list(chain.from_iterable(map(_ITS_VALUE.split, arguments))), self.state.folder
        while words and words[0].startswith("-"):
            option, *values = words[: 1 + (words[0] in {"-C", "-c", "--git-dir", "--work-tree"})]
            del words[: 1 + len(values)]
            if values and option != "-c":
                self.state.folder = self.state.absolute(values[0])
        if words:
            self.git_verb(_Git(words[0], words[1:]))
        self.state.folder = start

    def git_verb(self, git: _Git) -> None:
        channel = self.state.channel_of(".")
        if git.verb in _TRANSPORT or channel is None or channel not in {NETWORK, OUTSIDE}:
            GIT.get(git.verb, _Call.git_history)(self, git)
        # of another repository nothing is the agent's own, unless it made the repository or committed to it
        elif git.verb in _HISTORY | _OF_TREE | {"diff"}:
            self.effects.reads.append(ForeignPlace(channel, git.text))
        elif git.verb in {"init", "commit"}:
            self.state.write(".")

    def git_commit(self, git: _Git) -> None:
        self.state.messages += [word for option, word in pairwise(git.words) if _MESSAGE.fullmatch(option)]

    def git_worktree(self, git: _Git) -> None:
        # `worktree add FOLDER REVISION`: all that lies in the folder is of that revision
        _, *places = _plain(git.words) or [""]
        if places:
            self.state.write(places[0], HISTORY)
        else:
            self.git_history(git)

    def git_take(self, git: _Git) -> None:
        self.effects.edits = True
        if git.foreign:
            self.effects.takes = ForeignPlace(HISTORY, git.foreign[0])
            for path in {*_plain(git.words)}.difference(git.revisions):
                self.state.write(path, HISTORY)

    def git_apply(self, git: _Git) -> None:
        self.patch(git.words)

    def git_fetch(self, git: _Git) -> None:
        plain = _plain(git.words)
        self.effects.reads.append(ForeignPlace(NETWORK, " ".join(["git", git.verb, *plain])))
        if git.verb == "clone" and plain:
            # without a folder a clone has the last name of its address
            copy = posixpath.basename(plain[0]).removesuffix(".git")
            self.state.write([*plain[1:], copy][0], NETWORK)
        if git.verb == "pull":
            self.effects.takes, self.effects.edits = ForeignPlace(NETWORK, "git pull"), True

    def git_diff(self, git: _Git) -> None:
        """Follow a diff; where its new side is the working tree or HEAD, the agent's own lines are the added ones."""
        if not git.foreign:
            self.effects.mixes_own = True
            return
        sides = list(chain.from_iterable(word.replace("...", "..").split("..") for word in git.revisions))
        is_own = len(sides) == 1 or not sides[-1] or _OWN_REVISION.match(sides[-1])
        text = " ".join(["git", "diff", *git.words])
        self.effects.reads.append(ForeignPlace(HISTORY, text, sign="-" * bool(is_own)))

    def git_history(self, git: _Git) -> None:
        # HEAD is the agent's own commit, once it has made one
        is_own = bool(git.revisions) and bool(self.state.messages or "stash" in git.revisions[0])
        if git.verb == "stash" or ((git.verb in _OF_TREE or is_own) and not git.foreign):
            self.effects.mixes_own = True
            self.effects.edits |= git.verb == "stash"
        elif git.verb in _HISTORY | _OF_TREE:
            self.effects.reads.append(ForeignPlace(HISTORY, git.text))

    def remote(self, program: str, arguments: Sequence[str]) -> None:
        # the name of a file or a header may have a point too: a whole address comes first
        named = chain(filter(_URL.match, arguments), filter(methodcaller("__contains__", "."), arguments))
        address = next(named, " ".join(arguments))
        self.effects.reads.append(ForeignPlace(NETWORK, address))
        options = {"-O", "--output-document"} if program == "wget" else {"-o", "--output"}
        target = next(_values_of(options, arguments), "")
        # wget fills a file unless it is told not to, curl prints unless it is told to fill one
        if not target and ("-O" in arguments or (program == "wget" and {"-qO-", "-O-"}.isdisjoint(arguments))):
            target = posixpath.basename(address)
        if target and target != "-":
            self.state.write(target, NETWORK)
            if self.state.in_tree(target) and "." in target and not target.endswith(_DATA):
                self.effects.takes = ForeignPlace(NETWORK, address)

    def pip(self, arguments: Sequence[str]) -> None:
        for folder in _values_of(_PIP_TARGETS, arguments):
            self.state.write(folder, INSTALLED)
        # without a target pip fills the current folder
        if "download" in arguments and _PIP_TARGETS.isdisjoint(arguments) and not self.state.in_tree("."):
            self.state.write(".", INSTALLED)

    def copy(self, arguments: Sequence[str]) -> None:
        *sources, target = _plain(arguments) or [""]
        if not sources:
            return
        channel = next(filterfalse({None, TESTS}.__contains__, map(self.state.channel_of, sources)), None)
        self.state.write(target, channel)
        # the target may be a file or a folder: both of its meanings are noted
        for source in sources:
            self.state.write(posixpath.join(target, posixpath.basename(source)), channel)
        if self.state.in_tree(target):
            self.effects.edits = True
            if channel:
                self.effects.takes = ForeignPlace(channel, sources[0])


def _is_wrapper(word: str) -> bool:
    return word in _WRAPPERS or bool(_BEFORE_PROGRAM.fullmatch(word))


def _plain(arguments: Iterable[str]) -> list[str]:
    return list(filterfalse(methodcaller("startswith", "-"), arguments))


def _is_path(word: str) -> bool:
    return not word.startswith("-") and bool(_PATH_LIKE.search(word)) and "\n" not in word


def _values_of(options: AbstractSet[str], arguments: Sequence[str]) -> Iterator[str]:
    """Yield the words after any of these options."""
    return (word for option, word in pairwise(arguments) if option in options)


def _is_revision(word: str) -> bool:
    name = word.partition(":")[0]
    return ".." in name.strip("./") or bool(_REVISION.match(name) or _SHA.match(name))


GIT: Mapping[str, Callable[[_Call, _Git], None]] = {
    "commit": _Call.git_commit,
    "worktree": _Call.git_worktree,
    **dict.fromkeys(_TRANSPORT, _Call.git_fetch),
    **dict.fromkeys(
        ("checkout", "restore", "cherry-pick", "merge", "rebase", "reset", "switch", "read-tree"), _Call.git_take
    ),
    **dict.fromkeys(("apply", "am"), _Call.git_apply),
    **dict.fromkeys(("diff", "difftool"), _Call.git_diff),
}
"""Verb of git → what follows it; any other shows history, or nothing."""
PROGRAMS: Mapping[str, Callable[[_Call, Sequence[str]], None]] = {
    "cd": _Call.change_folder,
    "git": _Call.git,
    **dict.fromkeys(("pip", "pip3", "uv"), _Call.pip),
    **dict.fromkeys(("edit", "insert", "create", "str_replace", "undo_edit"), _Call.edit_first),
    "str_replace_editor": _Call.editor_command,
    "diff": _Call.compare,
    **dict.fromkeys(("tee", "touch", "truncate"), _Call.write),
    **dict.fromkeys(("cp", "mv", "install", "ln", "rsync"), _Call.copy),
    **dict.fromkeys(("patch", "ed", "ex"), _Call.patch),
}
"""Program → what follows a call of it."""
