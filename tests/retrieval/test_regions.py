"""What each language takes for a comment or a literal."""

import pytest

from assay.languages import languages_with, lexical_rules
from assay.retrieval.canonical import characters
from assay.retrieval.plain_marks import CHARACTER, COMMENT, REGEX, STRING
from assay.retrieval.scanning import find_regions
from assay.retrieval.source import Source

NAMES = {COMMENT: "comment", STRING: "string", CHARACTER: "character", REGEX: "regex"}


def regions(text, language):
    found = find_regions(Source.of(text), lexical_rules(language))
    return [
        (NAMES[kind], text[start:stop])
        for start, stop, kind in zip(found.starts, found.stops, found.kinds.tolist(), strict=True)
    ]


def comment(text):
    return ("comment", text)


def literal(text):
    return ("string", text)


CASES = {
    "a verbatim string": (
        "csharp", 'a(@"b\\" + $"{c["d"]}"); // e',
        [literal('@"b\\"'), literal('$"{c["d"]}"'), comment("// e")],
    ),
    "doubled quotes": ("csharp", '@"a""b\n//c" // d', [literal('@"a""b\n//c"'), comment("// d")]),
    "a raw string of C#": ("csharp", '"""a "b" // c""" // d', [literal('"""a "b" // c"""'), comment("// d")]),
    "a region of C#": ("csharp", "#region don't\nx", [comment("#region don't")]),
    "code in a string of Kotlin": (
        "kotlin", '"${f("//")}" /* /* */ */',
        [literal('"${f("//")}"'), comment("/* /* */ */")],
    ),
    "pages around PHP": (
        "php", "<b>it's<?php a('b'); ?>it's<?= $c",
        [literal("<b>it's<?"), literal("'b'"), literal("?>it's<?")],
    ),
    "the end of a page": ("php", "a(); ?>\nit's", [literal("?>\nit's")]),
    "a heredoc of PHP": ("php", "a(<<<'E'\n# b\n  E); # c", [literal("<<<'E'\n# b\n  E"), comment("# c")]),
    "an attribute of PHP": ("php", "#[A('b')]\n# c", [literal("'b'"), comment("# c")]),
    "code in a string of Ruby": ("ruby", '"a#{b["c"]} # d" # e', [literal('"a#{b["c"]} # d"'), comment("# e")]),
    "delimiters of Ruby": ("ruby", "%w[a [b] '] # c", [literal("%w[a [b] ']"), comment("# c")]),
    "a heredoc of Ruby": ("ruby", "a = <<~E\n  # b\nE\n# c", [literal("<<~E\n  # b\nE"), comment("# c")]),
    "a shift of Ruby": ("ruby", "a << b\nb # c", [comment("# c")]),
    "a documentation block of Ruby": ("ruby", '=begin\n"\n=end\na', [comment('=begin\n"\n=end')]),
    "a regular expression of Ruby": ("ruby", "if /'#/i # a", [("regex", "/'#/i"), comment("# a")]),
    "code in a string of Swift": ("swift", '"\\(f("//"))" // a', [literal('"\\(f("//"))"'), comment("// a")]),
    "a raw string of Swift": ("swift", '#"a"b"# // c', [literal('#"a"b"#'), comment("// c")]),
    "a symbol of Scala": ("scala", "'a + 'b' // c", [("character", "'b'"), comment("// c")]),
    "long brackets of Lua": (
        "lua", "--[[ a\n]] [=[ b]] ]=] -- c",
        [comment("--[[ a\n]]"), literal("[=[ b]] ]=]"), comment("-- c")],
    ),
    "a transposed matrix": ("matlab", "a' * b.' + f('%') % c", [literal("'%'"), comment("% c")]),
    "a block of MATLAB": ("matlab", "%{\na'\n%}\nb", [comment("%{\na'\n%}")]),
    "a raw string of R": ("r", 'r"(a"b)" # c', [literal('r"(a"b)"'), comment("# c")]),
    "quote-like operators": (
        "perl", "s{a'}{b} ; q(c(d)') # e",
        [literal("s{a'}{b}"), literal("q(c(d)')"), comment("# e")],
    ),
    "a key that looks like an operator": ("perl", "$s{q} = $#y; # a", [comment("# a")]),
    "pod": ("perl", "=head1 A\nit's\n=cut\n1; # a", [comment("=head1 A\nit's\n=cut"), comment("# a")]),
    "what is no comment of a shell": ("shell", "echo a#b $# ${#c} \\' # d", [comment("# d")]),
    "quotes in a substitution": ("shell", '"$(f "#")" # a', [literal('"$(f "#")"'), comment("# a")]),
    "a heredoc of a shell": ("shell", "cat <<-'E' > a\n# '\n\tE\nb", [literal("<<-'E' > a\n# '\n\tE")]),
    "escapes of PowerShell": (
        "powershell", '"a`"" <# b #> # c',
        [literal('"a`""'), comment("<# b #>"), comment("# c")],
    ),
    "strings of SQL": ("sql", "'it''s -- a' -- b", [literal("'it''s -- a'"), comment("-- b")]),
    "strings of Dart": (
        "dart", "r'a\\' \"${b['c']}\" // d",
        [literal("r'a\\'"), literal("\"${b['c']}\""), comment("// d")],
    ),
    "comments of Visual Basic": ("visual-basic", 'a = "b""c" \' d"', [literal('"b""c"'), comment("' d\"")]),
    "comments of Fortran": (
        "fortran", "C it's\n      call c('!') ! a",
        [comment("C it's"), literal("'!'"), comment("! a")],
    ),
    "characters of Erlang": ("erlang", '$" + $% % a', [comment("% a")]),
    "primes of Haskell": (
        "haskell", "f' x --> '\"' {- a {- -} -} -- b",
        [("character", "'\"'"), comment("{- a {- -} -}"), comment("-- b")],
    ),
    "characters of Scheme": ("scheme", '#\\" \'a #| #| |# |# ; b', [comment("#| #| |# |#"), comment("; b")]),
    "comments of Pascal": (
        "pascal", "{ a' } b := 'c''{' (* d *)",
        [comment("{ a' }"), literal("'c''{'"), comment("(* d *)")],
    ),
    "attributes of Ada": (
        "ada", "a'Length & '\"' & \"b--\" -- c",
        [("character", "'\"'"), literal('"b--"'), comment("-- c")],
    ),
    "bits of VHDL": ("vhdl", "a <= '0'; -- b", [("character", "'0'"), comment("-- b")]),
    "a hash in a string": ("python", 'x = "# no" # yes', [literal('"# no"'), comment("# yes")]),
    "triple quotes over lines": ("python", 'f("""a "b"\n# c""")', [literal('"""a "b"\n# c"""')]),
    "an escaped quote": ("python", r"'it\'s' # x", [literal(r"'it\'s'"), comment("# x")]),
    "an escaped triple quote": ("python", '"""a\\""""', [literal('"""a\\""""')]),
    "a raw string keeps its quote escaped": ("python", r'r"\"# no"', [literal(r'"\"# no"')]),
    "a string continued on the next line": ("python", '"a\\\nb"', [literal('"a\\\nb"')]),
    "a string continued after CRLF": ("python", '"a\\\r\nb"', [literal('"a\\\r\nb"')]),
    "quotes in a field of an f-string": ("python", 'f"{d["#"]} b" # c', [literal('"{d["#"]} b"'), comment("# c")]),
    "doubled braces of an f-string": ("python", 'f"{{" # c', [literal('"{{"'), comment("# c")]),
    "empty strings": ("python", "'' + \"\" # c", [literal("''"), literal('""'), comment("# c")]),
    "a shebang": ("javascript", "#!/usr/bin/env node\nx", [comment("#!/usr/bin/env node")]),
    "a shebang before CRLF": ("go", "#!x\r\ny // z", [comment("#!x"), comment("// z")]),
    "an inner attribute is no shebang": ("rust", "#![allow(x)] // y", [comment("// y")]),
    "comment marks in a C string": ("c", 'a("/* // */"); // b', [literal('"/* // */"'), comment("// b")]),
    "a block comment over lines": ("c", "a /* b\n * // c */ d", [comment("/* b\n * // c */")]),
    "a block comment of stars": ("java", "/***/a/****/", [comment("/***/"), comment("/****/")]),
    "a line comment spliced to the next line": ("c", "// a \\\nb\nc", [comment("// a \\\nb")]),
    "no splice in Java": ("java", "// a \\\nb", [comment("// a \\")]),
    "a preprocessor line": ("c", '#include "a.h" // b\n#define A \\\n 1', [literal('"a.h"'), comment("// b")]),
    "a C character": ("c", "'\\'' '\"' // x", [("character", "'\\''"), ("character", "'\"'"), comment("// x")]),
    "digit separators": ("cpp", "1'000'000 + 0xFF'FF + 'a'", [("character", "'a'")]),
    "a separator before a hexadecimal letter": ("cpp", "0xA'B; u8'a'", [("character", "'a'")]),
    "a raw string": ("cpp", 'R"x(a)" // )x" // b', [literal('"x(a)" // )x"'), comment("// b")]),
    "a raw string without delimiter": ("cpp", 'R"(a"b)" + "c"', [literal('"(a"b)"'), literal('"c"')]),
    "a text block": ("java", 'x = """\n a "b" // c\n"""; // d', [literal('"""\n a "b" // c\n"""'), comment("// d")]),
    "a template": ("javascript", "`a // b` // c", [literal("`a // b`"), comment("// c")]),
    "a template in a template": ("typescript", "`${a ? `b//${c}` : {}}//`;", [literal("`${a ? `b//${c}` : {}}//`")]),
    "a brace in a string in a template": ("javascript", "`${f('}')} // x`", [literal("`${f('}')} // x`")]),
    "an escaped back-quote": ("javascript", r"`\`` // a", [literal(r"`\``"), comment("// a")]),
    "a regular expression": ("javascript", 'x = /["/*]/g; // a', [("regex", '/["/*]/g'), comment("// a")]),
    "a regular expression on its own line": ("javascript", "f(\n      /'/)", [("regex", "/'/")]),
    "a regular expression after return": ("javascript", "return /'/", [("regex", "/'/")]),
    "a regular expression after an arrow": ("javascript", "x => /'/", [("regex", "/'/")]),
    "a slash in a class": ("javascript", "a(/[/'\\]]/)", [("regex", "/[/'\\]]/")]),
    "an escaped slash": ("javascript", r"a(/\/'/)", [("regex", r"/\/'/")]),
    "divisions": ("javascript", "a / b / c; (a) / 2 / d; a[0]/e/f; 1 /g/ h", []),
    "a name that ends in return": ("javascript", "myreturn /a/ b", []),
    "closing tags": ("javascript", "<b>a</b> <i>c</i> <A x={1} /> <B />", []),
    "a raw string in Go": ("go", "`a\\` + `// b\n`", [literal("`a\\`"), literal("`// b\n`")]),
    "a rune": ("go", "'\\'' // a", [("character", "'\\''"), comment("// a")]),
    "nested comments": ("rust", "/* a /* b */ c */ d", [comment("/* a /* b */ c */")]),
    "eight levels of comments": ("rust", "/*" * 8 + "*/" * 8 + "x", [comment("/*" * 8 + "*/" * 8)]),
    "lifetimes": ("rust", "fn f<'a, 'b>(x: &'a str) { 'c' }", [("character", "'c'")]),
    "Rust escapes": ("rust", r"'\'' '\x41'", [("character", r"'\''"), ("character", r"'\x41'")]),
    "a Rust code point": ("rust", r"'\u{1F600}'", [("character", r"'\u{1F600}'")]),
    "a raw string with hashes": ("rust", 'r##"a "# // b"## // c', [literal('##"a "# // b"##'), comment("// c")]),
    "a raw string without hashes": ("rust", r'r"\" // c', [literal(r'"\"'), comment("// c")]),
    "a string over lines": ("rust", '"a\n// b"', [literal('"a\n// b"')]),
    "a raw identifier": ("rust", "r#type // a", [comment("// a")]),
    "comments of other languages": (None, "a # b\n// c\n-- d", [comment("# b"), comment("// c"), comment("-- d")]),
    "operators of other languages": (None, "a#b http://c i-- --j", []),
    "an apostrophe in prose": (None, "don't 'a # b'", [literal("'a # b'")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_language_reads(case):
    language, text, expected = CASES[case]
    assert regions(text, language) == expected


OPENERS = {
    "python": ['"""', "'''"],
    "java": ['"""', "/*"],
    "c": ["/*"],
    "cpp": ["/*", 'R"x('],
    "javascript": ["/*", "`", "`${"],
    "typescript": ["/*", "`"],
    "go": ["/*", "`"],
    "rust": ["/*", '"', 'r"', 'r#"', "/* /* */"],
    None: ["/*"],
}


@pytest.mark.parametrize(("language", "mark"), [(entry, mark) for entry, marks in OPENERS.items() for mark in marks])
def test_what_is_never_closed_swallows_nothing(language, mark):
    before, after = "first = 1;\n", "\nsecond = 2;\nthird = 3;"
    source = Source.of(before + mark + after)
    found = find_regions(source, lexical_rules(language))
    assert found.unterminated
    kept = characters(source, found).starts.tolist()
    assert [at for at in range(len(source) - len(after), len(source)) if not source.text[at].isspace()] == [
        at for at in kept if at >= len(source) - len(after)
    ]


def test_what_follows_an_unclosed_mark_in_its_line_is_code():
    assert regions('a = """b c\nd', "python") == []


def test_an_unclosed_mark_leaves_the_other_kinds_alone():
    text = "/* a `b` // c\n'd'"
    found = find_regions(Source.of(text), lexical_rules("javascript"))
    assert found.unterminated == (0,)
    assert regions(text, "javascript") == [literal("`b`"), comment("// c"), literal("'d'")]


@pytest.mark.parametrize("language", [*languages_with("fingerprints"), None])
def test_an_unclosed_quote_ends_with_its_line(language):
    span = {"rust", "php", "ruby", "r", "perl", "shell", "powershell", "erlang", "scheme"}  # strings run over lines
    if language not in span | {"fortran"}:  # where a line of "c" alone is a comment
        assert regions('a = "b\nc = 1', language) == [literal('"b')]


HOSTILE = [
    "/*",
    "/**/",
    '"',
    "'",
    "`",
    "${",
    "`${",
    "`{",
    "(/[",
    "(/a",
    "(/",
    'r#"',
    '"""',
    'f"{a',
    "\\",
    '\\"',
    'R"x(',
    "1'",
]
NUMBERS = ["1.", "1e+", ".5", "#"]


@pytest.mark.parametrize("language", [*languages_with("fingerprints"), None])
@pytest.mark.parametrize("opening", ["", "/*", "`${"])
def test_hostile_repetition_is_read_to_its_end(language, opening):
    """A quadratic expression would take hours over these; a linear one takes milliseconds."""
    for mark in HOSTILE + NUMBERS:
        source = Source.of(opening + mark * (8_000 // len(mark)))
        found = find_regions(source, lexical_rules(language))
        assert (found.starts < found.stops).all()
        assert (found.stops[:-1] <= found.starts[1:]).all()


def test_the_neutral_rules_keep_the_words_that_languages_share():
    reserved = lexical_rules(None).reserved
    assert {"if", "else", "for", "while", "return"} <= reserved
    assert not {"lambda", "fn", "func", "typename"} & reserved
