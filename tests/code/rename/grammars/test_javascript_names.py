"""JavaScript: which places of which names change. «count» marks them."""

# ruff: noqa: E501  programs read best as they are written

import pytest

from assay.code import analysis
from support.marking import holds, kept

TRAPS = {
    "functions of all kinds": """
const «scale» = («value», «factor» = «value») => «value» * «factor»;
const «twice» = «n» => «n» * 2;
function «plain»(«a», ...«rest») { return «a» + «rest».length; }
async function* «stream»(«items») { for await (const «one» of «items») yield «one»; }
const «fact» = function «loop»(«n») { return «n» ? «n» * «loop»(«n» - 1) : 1 };
""",
    "hoisting": """
function «f»() { «total» = «later»(1); var «total»; return «total»; function «later»(«x») { return «x»; } }
function «g»(«c») { if («c») { var «seen» = 1; function «inner»() { return 2; } } return «seen» + «inner»(); }
""",
    "blocks and closures": """
function «f»(«x») { { let «x» = 2; const «y» = «x»; «use»(() => «x» + «y»); } return «x»; }
function «use»(«g») { return «g»(); }
""",
    "destructuring": """
function «f»([«first», , «second» = «first»], {width: «wide», deep: {level: «low»}, ...«others»}) {
  const {name: «title»} = «others»;
  [«first», «second»] = [«second», «first»];
  ({a: «first»} = «title»);
  return «first» + «wide» + «low»;
}
""",
    "properties are no variables": """
function «f»(«side») { const «o» = {side: «side», [«side»]: 1, area(«x») { return this.side * «x»; }}; return «o».side + «o»?.side; }
class Box { side = 1; #deep = 2; constructor(«side») { this.side = «side»; } get area() { return this.side; } }
""",
    "templates, regular expressions and strings": "const «f» = («x») => `x ${«x»} ${`${«x»}`}` + \"x\" + 'x' + /x/.source;\n",
    "loops, labels and exceptions": """
function «f»(«list») {
  label: for (let «label» = 0; ; ) { break label; }
  for (const [«k», «v»] of «list») { log(«k», «v»); }
  for (let «key» in «list») { log(«key»); }
  for (var «i» = 0; «i» < 1; «i»++) continue;
  try { «i»(); } catch («error») { log(«error»); } finally { }
  try { } catch { }
}
""",
    "switches": "function «f»(«x») { switch («x») { case 1: let «y» = «x»; return «y»; default: } }\n",
    "comments that speak of names": """
/**
 * Adds up «numbers», a list.
 * @param {number[]} «numbers» what to add
 * @param {number} «a» where to start, a number
 */
function «sumOf»(«numbers», «a») { return «a»; } // «sumOf»(«numbers»)
""",
    "exports of other names": "function «f»(«x») { return «x»; }\nmodule.exports = «f»;\nmodule.exports.f = «f»;\n",
    "beyond ASCII": 'const «größe» = («x») => "→" + «x»;\n«größe»(1);\n',
}


@pytest.mark.parametrize("trap", TRAPS)
def test_just_these_places_change(trap):
    holds(TRAPS[trap], "javascript")


KEPT = {
    "the key of an object": ("function f(a) { return {a}; }", "a", "for a key"),
    "what an object is taken apart by": ("function f({a}) { return a; }", "a", "by its name"),
    "with a default": ("const {a = 1} = o;", "a", "by its name"),
    "what is imported": ("import a, {b as c, d} from 'x'; import * as e from 'y';", "c", "imported"),
    "what is exported": ("export const a = 1;", "a", "exported"),
    "an exported function": ("export default function a() {}", "a", "exported"),
    "what is exported later": ("const a = 1; export {a as b};", "a", "exported"),
    "a class": ("class A {}", "A", "a type"),
    "a function whose name is read": ("function f() { return f.name; }", "f", "looks at the name"),
    "names of the script that the global object has": ("var a = 1; log(window.a);", "a", "global object"),
    "through this": ("var a = 1; log(this.a);", "a", "global object"),
    "what a string names": ("var turn = 1; log(o['turn']);", "turn", "a string"),
    "a name that a global has too": ("function f() { { let n = 1; } return n; }", "n", "declared elsewhere"),
    "a name with a dollar sign": ("const $a = 1;", "$a", "a name with $"),
    "functions that a stack shows": ("function f() { return new Error().stack; }", "f", "may see"),
    "an element": ("const Box = (p) => p; const x = <Box/>;", "Box", "an element"),
    "what a linter is told": ("/* global a */\nvar a = 1;", "a", "a tool"),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    assert reason in kept(text, "javascript")[word]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("function f(a) { return eval('a'); }", "sees its own names: uses eval()"),
        ("with (o) { a; }", "sees its own names: uses with"),
        ("new Function('return a')", "sees its own names: uses Function()"),
        ("function f( {", "does not parse as JavaScript: line 1"),
    ],
)
def test_these_texts_are_refused(text, reason):
    assert analysis(text, language="javascript").refused == reason


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{key: ", "}")])
def test_patterns_may_be_nested_deeper_than_the_stack_of_python(opening, closing):
    result = analysis(f"var {opening * 600}width{closing * 600} = 1;\n", language="javascript")
    assert [symbol.name for symbol in result.names] == ["width"]
