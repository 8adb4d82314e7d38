"""What may change its name, and where each name stands."""

import textwrap

import pytest

from assay.code import Analysis, analysis, keywords_of


def renamed(source, *, keep=()):
    """The text with NEW_ before every name that may change: functions F_, variables V_."""
    text = textwrap.dedent(source).lstrip("\n")
    result = analysis(text, keep=keep)
    assert result.refused is None
    places = sorted(((place, name) for name in result.names for place in name.places), key=lambda pair: -pair[0])
    for place, renamable in places:
        assert text.startswith(renamable.name, place)
        text = text[:place] + renamable.kind[0].upper() + "_" + text[place:]
    return text


CASES = {
    "parameters of every kind": (
        ("def f(a, /, b, *c, d=1, **e):\n    return a, b, c, d, e\n"),
        ("def F_f(V_a, /, V_b, *V_c, V_d=1, **V_e):\n    return V_a, V_b, V_c, V_d, V_e\n"),
    ),
    "locals, augmented and annotated": (
        ("def f():\n    x = 1\n    x += 2\n    y: int = x\n    z: int\n    return y\n"),
        ("def F_f():\n    V_x = 1\n    V_x += 2\n    V_y: int = V_x\n    V_z: int\n    return V_y\n"),
    ),
    "targets of for, with, except and del": (
        (
            "for i, (j, *k) in []:\n"
            "    del i\n"
            "with open(j) as g:\n"
            "    pass\n"
            "try:\n"
            "    pass\n"
            "except (OSError) as  oops:\n"
            "    print(oops)\n"
        ),
        (
            "for V_i, (V_j, *V_k) in []:\n"
            "    del V_i\n"
            "with open(V_j) as V_g:\n"
            "    pass\n"
            "try:\n"
            "    pass\n"
            "except (OSError) as  V_oops:\n"
            "    print(V_oops)\n"
        ),
    ),
    "nested functions and nonlocal": (
        ("def f(n):\n    def g():\n        nonlocal n, m\n        n = m = 1\n    m = 0\n    return g, m\n"),
        (
            "def F_f(V_n):\n"
            "    def F_g():\n"
            "        nonlocal V_n, V_m\n"
            "        V_n = V_m = 1\n"
            "    V_m = 0\n"
            "    return F_g, V_m\n"
        ),
    ),
    "global": (
        ("count = 0\ndef f():\n    global count, later\n    count += 1\n    later = count\n"),
        ("V_count = 0\ndef F_f():\n    global V_count, V_later\n    V_count += 1\n    V_later = V_count\n"),
    ),
    "comprehensions of all kinds": (
        (
            "xs = []\n"
            "a = [x for x in xs if x]\n"
            "b = {x: y for x in xs for y in x}\n"
            "c = {x for x in xs}\n"
            "d = sum(x for x in xs)\n"
        ),
        (
            "V_xs = []\n"
            "V_a = [V_x for V_x in V_xs if V_x]\n"
            "V_b = {V_x: V_y for V_x in V_xs for V_y in V_x}\n"
            "V_c = {V_x for V_x in V_xs}\n"
            "V_d = sum(V_x for V_x in V_xs)\n"
        ),
    ),
    "walrus, out of a comprehension too": (
        ("def f(v):\n    if (n := len(v)) > 1:\n        return [last := x for x in v], last, n\n"),
        ("def F_f(V_v):\n    if (V_n := len(V_v)) > 1:\n        return [V_last := V_x for V_x in V_v], V_last, V_n\n"),
    ),
    "captures of match": (
        (
            "def f(v):\n"
            "    match v:\n"
            "        case [a, *b]:\n"
            "            return a, b\n"
            "        case {'k': c, ** d}:\n"
            "            return c, d\n"
            "        case int() as e:\n"
            "            return e\n"
        ),
        (
            "def F_f(V_v):\n"
            "    match V_v:\n"
            "        case [V_a, *V_b]:\n"
            "            return V_a, V_b\n"
            "        case {'k': V_c, ** V_d}:\n"
            "            return V_c, V_d\n"
            "        case int() as V_e:\n"
            "            return V_e\n"
        ),
    ),
    "keyword call sites": (
        ("def f(a, b=0):\n    return a\nf(b=1, a=2)\nprint(f(a=3), sep='')\n"),
        ("def F_f(V_a, V_b=0):\n    return V_a\nF_f(V_b=1, V_a=2)\nprint(F_f(V_a=3), sep='')\n"),
    ),
    "lambdas": (
        "g = lambda x, y=1: x + y\n",
        "V_g = lambda V_x, V_y=1: V_x + V_y\n",
    ),
    "decorators written in the text": (
        (
            "def deco(func):\n"
            "    def inner(*args):\n"
            "        return func(*args)\n"
            "    return inner\n"
            "@deco\n"
            "def f(a):\n"
            "    return a\n"
        ),
        (
            "def F_deco(V_func):\n"
            "    def F_inner(*V_args):\n"
            "        return V_func(*V_args)\n"
            "    return F_inner\n"
            "@F_deco\n"
            "def F_f(V_a):\n"
            "    return V_a\n"
        ),
    ),
    "class bodies keep their attributes and see the names around": (
        (
            "def f(n):\n"
            "    class C:\n"
            "        size = n\n"
            "        def get(self, more):\n"
            "            return self.size + more + n\n"
            "    return C\n"
        ),
        (
            "def F_f(V_n):\n"
            "    class C:\n"
            "        size = V_n\n"
            "        def get(self, V_more):\n"
            "            return self.size + V_more + V_n\n"
            "    return C\n"
        ),
    ),
    "functions in a class do not see its attributes": (
        ("size = 1\nclass C:\n    size = 2\n    def get(self):\n        return size\n"),
        ("V_size = 1\nclass C:\n    size = 2\n    def get(self):\n        return V_size\n"),
    ),
    "f-strings": (
        ("def f(a, w):\n    return f'{a} a {{a}} {a!r:>{w}}' f\"{[x for x in a]} {a['a']}\" rf'\\N{a}' 'a {a}'\n"),
        (
            "def F_f(V_a, V_w):\n"
            "    return f'{V_a} a {{a}} {V_a!r:>{V_w}}' f\"{[V_x for V_x in V_a]} {V_a['a']}\" rf'\\N{V_a}' 'a {a}'\n"
        ),
    ),
    "f-strings over lines, in f-strings, behind letters of two bytes": (
        ("def f(ä, b):\n    é = 'é'; return f'''é\n  {ä +\n b} {f\"{b}\"}''' + é\n"),
        ("def F_f(V_ä, V_b):\n    V_é = 'é'; return f'''é\n  {V_ä +\n V_b} {f\"{V_b}\"}''' + V_é\n"),
    ),
    "quoted type hints": (
        (
            "Row = list[int]\n"
            "def f(a: 'Row', b: \"dict[str, 'Row']\") -> 'Row | None':\n"
            "    c: 'Row' = a\n"
            "    return c\n"
        ),
        (
            "V_Row = list[int]\n"
            "def F_f(V_a: 'V_Row', V_b: \"dict[str, 'V_Row']\") -> 'V_Row | None':\n"
            "    V_c: 'V_Row' = V_a\n"
            "    return V_c\n"
        ),
    ),
    "comments": (
        (
            "def total(values, a):\n"
            "    # total: a sum of values, with a = 1, not values.x or `a`\n"
            "    return sum(values, a)  # noqa: values\n"
        ),
        (
            "def F_total(V_values, V_a):\n"
            "    # F_total: a sum of V_values, with V_a = 1, not V_values.x or `V_a`\n"
            "    return sum(V_values, V_a)  # noqa: values\n"
        ),
    ),
    "a hash in a string is no comment": (
        "x = '# x'\n",
        "V_x = '# x'\n",
    ),
    "parameter lists of docstrings": (
        (
            "def f(size, *rest):\n"
            '    """Uses size.\n'
            "\n"
            "    Args:\n"
            "        size (int): the size.\n"
            "        *rest: others.\n"
            "\n"
            "    :param size: x\n"
            "    :type size: int\n"
            "    :param int size: x\n"
            "    - size (int): x\n"
            '    """\n'
            "    return size, rest\n"
        ),
        (
            "def F_f(V_size, *V_rest):\n"
            '    """Uses size.\n'
            "\n"
            "    Args:\n"
            "        V_size (int): the size.\n"
            "        *V_rest: others.\n"
            "\n"
            "    :param V_size: x\n"
            "    :type V_size: int\n"
            "    :param int V_size: x\n"
            "    - V_size (int): x\n"
            '    """\n'
            "    return V_size, V_rest\n"
        ),
    ),
    "examples of docstrings": (
        ('def f(a):\n    """Says f.\n\n    >>> f(a=f(1))\n    f\n    >>> f = 1 +\n    """\n    return a\n'),
        ('def F_f(V_a):\n    """Says f.\n\n    >>> F_f(V_a=F_f(1))\n    f\n    >>> f = 1 +\n    """\n    return V_a\n'),
    ),
    "assertions in docstrings": (
        (
            '"""Write f, as in\n    assert f(a=1) == f(2), "f"\nassert that f is told\nasserted f(1)\n"""\n'
            "def f(a):\n"
            "    return a\n"
        ),
        (
            '"""Write f, as in\n    assert F_f(V_a=1) == F_f(2), "f"\nassert that f is told\nasserted f(1)\n"""\n'
            "def F_f(V_a):\n"
            "    return V_a\n"
        ),
    ),
    "what is not ours stays": (
        (
            "import os.path as p, sys\n"
            "from a import b\n"
            "class C(b):\n"
            "    pass\n"
            "def f(self, __private, _, x):\n"
            "    return p.x, sys.f, len(C), x.x, undefined, __private, _\n"
        ),
        (
            "import os.path as p, sys\n"
            "from a import b\n"
            "class C(b):\n"
            "    pass\n"
            "def F_f(self, __private, _, V_x):\n"
            "    return p.x, sys.f, len(C), V_x.x, undefined, __private, _\n"
        ),
    ),
    "the same name in two scopes": (
        ("def f():\n    x = 1\n    def g(x):\n        return x\n    return g(x=x)\n"),
        ("def F_f():\n    V_x = 1\n    def F_g(V_x):\n        return V_x\n    return F_g(V_x=V_x)\n"),
    ),
    "windows line ends and tabs": (
        ("def f(a):\r\n\treturn a\r\n"),
        ("def F_f(V_a):\r\n\treturn V_a\r\n"),
    ),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES)
def test_every_place_of_a_name_is_found(source, expected):
    assert renamed(source) == expected


KEPT = {
    "a parameter passed by keyword to who knows whom": (
        "def f(a):\n    return a\nfor g in [f]:\n    g(a=1)\n",
        "a",
        "by keyword",
    ),
    "a parameter of a method passed by keyword": (
        "class C:\n    def m(self, a):\n        return a\nC().m(a=1)\n",
        "a",
        "by keyword",
    ),
    "a parameter that ** may name": ("def f(a):\n    return a\nf(**{'a': 1})\n", "a", "by keyword"),
    "a parameter that a dictionary of another call may name": (
        "def f(a):\n    return a\ndef call(g, kw):\n    return g(**kw)\ncall(f, {'a': 1})\n",
        "a",
        "by keyword",
    ),
    "a parameter that a wrapper passes on": (
        "def f(a):\n    return a\ndef call(g, **kw):\n    return g(**kw)\ncall(f, a=1)\n",
        "a",
        "by keyword",
    ),
    "a parameter under a decorator of others": ("import m\n@m.command\ndef f(a):\n    return a\n", "a", "decorator"),
    "a function under a decorator of others": ("import m\n@m.command\ndef f(a):\n    return a\n", "f", "decorator"),
    "a method that overrides": (
        "import m\nclass C(m.B):\n    def call(self, a):\n        return a\n",
        "a",
        "overrides",
    ),
    "what a string names": ("x = 1\n__all__ = ['x']\n", "x", "string"),
    "a module's name that is a builtin": (
        "try:\n    input = raw\nexcept NameError:\n    pass\nprint(input)\n",
        "input",
        "builtin",
    ),
    "what a class body reads under its own name": ("x = 1\nclass C:\n    x = x\n", "x", "class"),
    "what an f-string prints": ("x = 1\nprint(f'{x = }')\n", "x", "f-string"),
    "functions where names are read": ("def f():\n    return 1\nprint(f.__name__)\n", "f", "__name__"),
    "tests and their fixtures": ("def test_f(data):\n    return data\n", "data", "test"),
    "what a star import may bind": ("from m import *\nx = x\n", "x", "star import"),
    "an import that is also assigned": ("try:\n    import m\nexcept ImportError:\n    m = None\n", "m", "imported"),
    "a name of normalised letters": ("ﬁ = 1\nprint(fi)\n", "fi", "place is unknown"),
    "a hint that cannot be read in place": (
        "Row = int\ndef f(x: 'Ro\\x77'):\n    return x\n",
        "Row",
        "place is unknown",
    ),
    "the word that the compiler knows": ("def f(super):\n    return super\n", "super", "convention"),
}


@pytest.mark.parametrize(("source", "name", "reason"), KEPT.values(), ids=KEPT)
def test_a_name_that_others_may_look_for_is_kept_with_the_reason(source, name, reason):
    result = analysis(source)
    assert name not in {renamable.name for renamable in result.names}
    assert reason in result.kept[name]


REFUSED = {
    "locals": "def f(a):\n    return '%(a)s' % locals()\n",
    "globals": "x = 1\nglobals()['x']\n",
    "eval": "def f(a):\n    return eval('a')\n",
    "exec": "run = exec\n",
    "vars": "x = 1\nvars()['x']\n",
    "dir": "x = 1\nprint(dir())\n",
    "inspect": "import inspect\ndef f(a):\n    return inspect.signature(f)\n",
    "doctest": "from doctest import testmod\n",
    "frames": "import sys\nx = sys._getframe().f_locals\n",
    "code": "def f(a):\n    return f.__code__.co_varnames\n",
    "query": "def f(df, limit):\n    return df.query('a > @limit')\n",
    "pandas eval": "import pandas as pd\ndef f(a):\n    return pd.eval('a + 1')\n",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_a_text_that_sees_its_own_names_is_refused_with_the_reason(source):
    result = analysis(source)
    assert result.names == ()
    assert result.refused.startswith("sees its own names: ")


@pytest.mark.parametrize(
    "source",
    [
        "def f(locals, eval):\n    return locals(eval)\n",
        "def f(a):\n    return vars(a), dir(a), a.eval(), a.locals\n",
        "def f(m):\n    return m.query('select 1')\n",
    ],
)
def test_names_that_only_sound_dangerous_are_no_reason(source):
    assert analysis(source).refused is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(:", "does not parse as Python"),
        ("print 'x'", "does not parse as Python"),
        ("x = '\0'", "does not parse as Python"),
        ("(" * 300 + ")" * 300, "does not parse as Python"),
        ("-" * 200_000 + "1", "nested too deeply"),
    ],
)
def test_what_is_no_python_is_refused(source, reason):
    assert analysis(source).refused.startswith(reason)


def test_a_text_without_names_has_none():
    assert analysis("print(1)\n") == Analysis("print(1)\n", (), {}, frozenset({"print"}))


def test_keywords_of_tests_can_be_kept():
    tests = "assert f(a=1) == 2; g(**{'b': 1}, c=2)"
    assert keywords_of(tests) == {"a", "c"}
    assert (
        renamed("def f(a, b):\n    return a + b\n", keep=keywords_of(tests)) == "def F_f(a, V_b):\n    return a + V_b\n"
    )


def test_names_of_the_module_are_told_from_others():
    result = analysis("x = 1\ndef f(y):\n    return y\n")
    assert {renamable.name for renamable in result.names if renamable.global_scope} == {"x", "f"}
