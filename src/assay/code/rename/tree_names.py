"""The names of a text that may change without changing its behaviour: the rules that all grammars share.

All bindings of a name that may change do so together, so it does not matter which of them a use means. A name that also
stands for something that the text does not declare is kept.
"""

import bisect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter

from assay.code.parse.lexing import spliced
from assay.code.parse.trees import WORD, Node, Unparsable, syntax_tree
from assay.code.rename.bindings import KEPT, METHOD, VALUE, Bindings, Key, NameRules, Symbol
from assay.code.rename.hiding import readable
from assay.code.rename.mentions import mentioned
from assay.code.rename.names import Analysis, NameKind, renamables

UNCERTAIN = "stands where the text does not parse, or for something else too"


def tree_analysis(text: str, rules: NameRules, *, keep: Collection[str] = ()) -> Analysis:
    """Find what can be renamed.

    Args:
        text: a file or a fragment that parses on its own.
        rules: for names in its language.
        keep: names to leave alone.
    """
    words = frozenset(WORD.findall(text))
    try:
        tree = readable(text, rules)
    except Unparsable as error:
        return Analysis.refusal(text, words, f"does not parse as {rules.language.title}: {error}")
    reason = rules.refusal(tree)
    if reason:
        return Analysis.refusal(text, words, reason)
    bindings = Bindings(tree, rules)
    changing, kept = sorted_out(bindings, frozenset(keep))
    places: dict[tuple[str, NameKind], set[int]] = defaultdict(set)
    outside: set[tuple[str, NameKind]] = set()
    for (_space, name), symbols in changing.items():
        entry = name, _kind(symbols)
        places[entry].update(*map(attrgetter("places"), symbols))
        if any(map(attrgetter("seen_outside"), symbols)):
            outside.add(entry)
    for key, place in mentions(bindings, changing):
        places[key[1], _kind(changing[key])].add(place)
    names = renamables(places, outside)
    if tree.hidden and not names:
        reason = f"does not parse as {rules.language.title}, and no name stands only where it does"
    return Analysis(text, names=names, kept=kept, words=words, refused=reason)


def sorted_out(bindings: Bindings, keep: frozenset[str]) -> tuple[dict[Key, list[Symbol]], dict[str, str]]:
    """Return the symbols that change, by name space and name, and the reasons of the names that are kept."""
    frozen = dict.fromkeys(uncertain_words(bindings), UNCERTAIN) | dict.fromkeys(keep, "to be kept") | _frozen(bindings)
    particular = bindings.rules.kept(bindings)
    strings = bindings.words(bindings.rules.strings)
    free = bindings.free()
    # A symbol that stays for a reason of its own holds back all symbols of its name: with one of them changed and one
    # not, it would matter which of the two a use means. A role, as a field, separates names by grammar and holds back
    # others only where the text was misread.
    changing: dict[Key, list[Symbol]] = defaultdict(list)
    kept: dict[str, str] = {}
    stuck: set[Key] = set()
    for symbol in bindings.symbols:
        name, key = symbol.name, symbol.key
        role = _kept_role(symbol)
        # a method, a field or an import is kept for what it is; elsewhere its name may change
        if role:
            kept[name] = role
            if bindings.misread:
                stuck.add(key)
            continue
        reason = (
            frozen.get(name)
            or _by_convention(name, bindings.rules)
            or particular.get(f"{name}()" if symbol.space == METHOD else name)
            or _uncertain(symbol, rules=bindings.rules, strings=strings, free=free)
        )
        if reason:
            kept[name] = reason
            stuck.add(key)
        else:
            changing[key].append(symbol)
    return {key: symbols for key, symbols in changing.items() if key not in stuck}, kept


def uncertain_words(bindings: Bindings) -> set[str]:
    """Return the words of a text with hidden parts that stand somewhere for something that nothing binds.

    What is hidden may bring brackets, types or members, so in such a text a name may change only where every place of
    its word, outside of comments and strings, is known to stand for the name: then all of them change together.
    """
    if not bindings.misread:
        return set()
    text = bindings.tree.text
    places = {node.start for node, symbol in bindings.leaves if symbol}
    return {text[start:end] for start, end in code_words(bindings) if start not in places}


def code_words(bindings: Bindings) -> list[tuple[int, int]]:
    """Return the spans of the words of a text outside of its comments and strings; hidden words count as code."""
    rules = bindings.rules
    prose = bindings.spans(rules.comments | rules.strings)
    spans = map(re.Match.span, WORD.finditer(bindings.tree.text))
    return [span for span in spans if not within(span[0], prose)]


def within(place: int, stretches: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place is in one of the stretches, which are in order and apart."""
    before = bisect.bisect_right(stretches, place, key=lambda stretch: stretch[0]) - 1
    return before >= 0 and place < stretches[before][1]


def _kept_role(symbol: Symbol) -> str | None:
    roles = symbol.roles
    if symbol.space == METHOD:
        roles.discard("method")
    if "function" in roles:  # declared first, defined later
        roles.discard("prototype")
    return next(map(KEPT.__getitem__, sorted(roles & KEPT.keys())), None)


def _by_convention(name: str, rules: NameRules) -> str | None:
    if name.startswith("__") or not name.strip("_"):
        return "a name by convention"
    if name in rules.keywords:
        return "a keyword"
    if not name.isidentifier():
        return "a name with $"
    return next((why for why, names in rules.conventional.items() if re.fullmatch(names, name)), None)


def _uncertain(symbol: Symbol, rules: NameRules, strings: set[str], free: set[str]) -> str | None:
    name = symbol.name
    if symbol.space != METHOD and name in free:
        return "stands for something declared elsewhere too"
    if symbol.inherited:
        return "a class may inherit a member of that name"
    if symbol.seen_outside:
        if name in strings:
            return "a string names it"
        if name in rules.language.library:
            return "the library has a function of that name"
    return None


def _frozen(bindings: Bindings) -> dict[str, str]:
    """Return the words at places where they are not read as names, with the reasons."""
    kept: dict[str, str] = {}
    frozen = bindings.rules.frozen
    for node in bindings.nodes:
        reason = frozen.get(node.kind) or frozen.get(f"{node.parent_kind}.{node.role}")
        if reason is None and _is_directive(bindings, node):
            reason = "a tool reads it in a comment"
        if reason:
            kept |= dict.fromkeys(WORD.findall(bindings.tree.of(node)), reason)
    return kept


def _is_directive(bindings: Bindings, node: Node) -> bool:
    rules = bindings.rules
    return node.kind in rules.comments and re.match(rules.directive, bindings.tree.of(node)) is not None


def _kind(symbols: Collection[Symbol]) -> NameKind:
    roles = set[str]().union(*map(attrgetter("roles"), symbols))
    return "function" if roles & {"function", "method"} else "variable"


def mentions(bindings: Bindings, changing: Mapping[Key, list[Symbol]]) -> Iterator[tuple[Key, int]]:
    """Yield the places where comments mention a name that changes."""
    by_name: dict[str, list[Key]] = defaultdict(list)
    for key in changing:
        by_name[key[1]].append(key)
    fixed = {symbol.name for symbol in bindings.symbols if symbol not in changing.get(symbol.key, ())}
    for node in bindings.nodes:
        if node.kind not in bindings.rules.comments or _is_directive(bindings, node):
            continue
        scope = bindings.root.at(node.start)
        for word in mentioned(bindings.tree.text, start=node.start, end=node.end, names=by_name):
            keys = by_name[word[0]]
            called = bindings.tree.text[word.end() :].lstrip(" ").startswith("(") or (VALUE, word[0]) not in keys
            # where a variable and a method share a name, brackets behind the word decide which of them is meant
            key = next((key for key in keys if (key[0] == METHOD) == called), keys[0])
            if word[0] not in fixed:
                yield key, word.start()
                continue
            symbol = bindings.lookup(word[0], scope, node.start)
            if symbol and symbol in changing.get(symbol.key, ()):
                yield symbol.key, word.start()


def respelled(text: str, rules: NameRules, names: Mapping[str, str]) -> str:
    """Return a text that uses the names of another one in their new spelling; strings and comments stay.

    Raises:
        Unparsable: it does not parse.
    """
    edits = []
    for node in syntax_tree(text, rules.language.grammar).root.walk():
        word = text[node.start : node.end]
        if not node.children and word in names and node.kind not in rules.strings | rules.comments:
            edits.append((node.start, node.end, names[word]))
    return spliced(text, edits)
