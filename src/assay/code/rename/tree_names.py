"""Which names of a text may change without changing what it does: the rules that all grammars share.

A name is one name: all its bindings that may change do so together, so a mistake about which of them a use means cannot
matter between them. A name that also stands for something that the text does not declare is left alone.
"""

import bisect
import functools
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from assay.code.parse.trees import WORD, Unparsable, parsed
from assay.code.rename.bindings import METHOD, Bindings, Key, Symbol
from assay.code.rename.grammar import KEPT, Grammar
from assay.code.rename.hiding import readable
from assay.code.rename.mentions import mentioned
from assay.code.rename.names import Analysis, Kind, Renamable

UNCERTAIN = "stands where the text does not parse, or for something else too"


def analysis(text: str, grammar: Grammar, *, keep: Collection[str] = ()) -> Analysis:
    """Finds what can be renamed.

    Args:
        text: a file or a fragment that parses on its own.
        grammar: of its language.
        keep: names to leave alone.
    """
    words = frozenset(WORD.findall(text))
    try:
        tree = readable(text, grammar)
    except Unparsable as error:
        return Analysis(text, (), {}, words, f"does not parse as {grammar.language.title}: {error}")
    reason = grammar.refusal(tree)
    if reason:
        return Analysis(text, (), {}, words, reason)
    found = Bindings(tree, grammar)
    changing, kept = sorted_out(found, frozenset(keep))
    places: dict[tuple[str, Kind], set[int]] = defaultdict(set)
    kinds = {key: _kind(symbols) for key, symbols in changing.items()}
    outside: set[tuple[str, Kind]] = set()
    for key, symbols in changing.items():
        place_of = places[key[1], kinds[key]]
        for one in symbols:
            place_of.update(one.places)
        if any(one.space == METHOD or one.scope.kind == "file" for one in symbols):
            outside.add((key[1], kinds[key]))
    for key, place in mentions(found, changing):
        places[key[1], kinds[key]].add(place)
    names = tuple(
        Renamable(name, kind, tuple(sorted(where)), (name, kind) in outside) for (name, kind), where in places.items()
    )
    if tree.hidden and not names:
        reason = f"does not parse as {grammar.language.title}, and no name stands only where it does"
        return Analysis(text, (), kept, words, reason)
    return Analysis(text, names, kept, words)


def sorted_out(found: Bindings, keep: frozenset[str]) -> tuple[dict[Key, list[Symbol]], dict[str, str]]:
    """Symbols that change, by name space and name, and the reasons of the names that are kept."""
    frozen = dict.fromkeys(uncertain_words(found), UNCERTAIN) | dict.fromkeys(keep, "to be kept") | _frozen(found)
    particular = found.grammar.rules(found)
    strings = {found.tree.of(one) for one in found.nodes if one.kind in found.grammar.strings}
    free = found.free()
    changing: dict[Key, list[Symbol]] = defaultdict(list)
    kept: dict[str, str] = {}
    stuck: set[Key] = set()
    for symbol in found.symbols:
        name, key = symbol.name, (symbol.space, symbol.name)
        role = _kept_role(symbol)
        if role:
            kept[name] = role
            if found.misread:
                stuck.add(key)
            continue
        reason = (
            frozen.get(name)
            or _by_convention(name, found.grammar)
            or particular.get(f"{name}()" if symbol.space == METHOD else name)
            or _uncertain(symbol, found.grammar, strings, free)
        )
        if reason:
            kept[name] = reason
            stuck.add(key)
        else:
            changing[key].append(symbol)
    return {key: symbols for key, symbols in changing.items() if key not in stuck}, kept


def uncertain_words(found: Bindings) -> set[str]:
    """Words of a text that is not read in full which stand anywhere for something that nothing binds.

    What is hidden may bring brackets, types or members, so in such a text a name may change only where every place of
    its word, outside of comments and strings, is known to stand for the name: then all of them change together.
    """
    if not found.misread:
        return set()
    text = found.tree.text
    places = {node.start for node, symbol in found.leaves if symbol}
    return {text[start:end] for start, end in code_words(found) if start not in places}


def code_words(found: Bindings) -> list[tuple[int, int]]:
    """Where the words of a text stand that are not within its comments and strings; hidden ones count as code."""
    grammar = found.grammar
    prose = sorted((one.start, one.end) for one in found.nodes if one.kind in grammar.comments | grammar.strings)
    starts = [start for start, _end in prose]
    words = []
    for word in WORD.finditer(found.tree.text):
        before = bisect.bisect_right(starts, word.start()) - 1
        if before < 0 or word.start() >= prose[before][1]:
            words.append(word.span())
    return words


def _kept_role(symbol: Symbol) -> str | None:
    roles = symbol.roles
    if symbol.space == METHOD:
        roles.discard("method")
    if "function" in roles:  # declared first, defined later
        roles.discard("prototype")
    return next((KEPT[one] for one in sorted(roles) if one in KEPT), None)


def _by_convention(name: str, grammar: Grammar) -> str | None:
    if name.startswith("__") or not name.strip("_"):
        return "a name by convention"
    if name in grammar.keywords:
        return "a keyword"
    if not name.isidentifier():
        return "a name with $"
    return grammar.conventional(name)


def _uncertain(symbol: Symbol, grammar: Grammar, strings: set[str], free: set[str]) -> str | None:
    name = symbol.name
    if symbol.space != METHOD and name in free:
        return "stands for something declared elsewhere too"
    if symbol.inherited:
        return "a class may inherit a member of that name"
    if symbol.space == METHOD or symbol.scope.kind == "file":
        if name in strings:
            return "a string names it"
        if name in grammar.language.library:
            return "the library has a function of that name"
    return None


def _frozen(found: Bindings) -> dict[str, str]:
    """Words of places that are read otherwise than as names."""
    kept = {}
    for node in found.nodes:
        reason = found.grammar.frozen.get(node.kind) or (
            found.grammar.frozen.get(f"{node.parent.kind}.{node.role}") if node.parent else None
        )
        if reason:
            kept.update(dict.fromkeys(WORD.findall(found.tree.of(node)), reason))
        elif node.kind in found.grammar.comments and _directive(found.grammar).match(found.tree.of(node)):
            kept.update(dict.fromkeys(WORD.findall(found.tree.of(node)), "a tool reads it in a comment"))
    return kept


@functools.cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source)


def _directive(grammar: Grammar) -> re.Pattern[str]:
    return _pattern(grammar.directive)


def _kind(symbols: Collection[Symbol]) -> Kind:
    roles = set[str]().union(*(one.roles for one in symbols))
    return "function" if roles & {"function", "method"} else "variable"


def mentions(found: Bindings, changing: Mapping[Key, list[Symbol]]) -> Iterator[tuple[Key, int]]:
    """Where comments speak of a name that changes."""
    by_name: dict[str, list[Key]] = defaultdict(list)
    for key in changing:
        by_name[key[1]].append(key)
    fixed = {one.name for one in found.symbols if (one.space, one.name) not in changing}
    fixed |= {one.name for one in found.symbols if one not in changing.get((one.space, one.name), ())}
    for node in found.nodes:
        if node.kind not in found.grammar.comments or _directive(found.grammar).match(found.tree.of(node)):
            continue
        scope = found.root.at(node.start)
        for word in mentioned(found.tree.text, node.start, node.end, by_name):
            keys = by_name[word[0]]
            called = found.tree.text[word.end() :].lstrip(" ").startswith("(") or word[0] not in _values(keys)
            key = next((one for one in keys if (one[0] == METHOD) == called), keys[0])
            if word[0] not in fixed:
                yield key, word.start()
                continue
            symbol = found.lookup(word[0], scope, node.start)
            if symbol and symbol in changing.get((symbol.space, symbol.name), ()):
                yield (symbol.space, symbol.name), word.start()


def _values(keys: Collection[Key]) -> set[str]:
    return {name for space, name in keys if space != METHOD}


def respelled(text: str, grammar: Grammar, names: Mapping[str, str]) -> str:
    """A text that speaks of another one's names, in their new spelling: every name of the syntax tree, but no string.

    Raises:
        Unparsable: it does not parse.
    """
    pieces, end = [], 0
    for node in parsed(text, grammar.language.grammar).root.walk():
        word = text[node.start : node.end]
        if not node.children and word in names and node.kind not in grammar.strings | grammar.comments:
            pieces += [text[end : node.start], names[word]]
            end = node.end
    return "".join(pieces) + text[end:]
