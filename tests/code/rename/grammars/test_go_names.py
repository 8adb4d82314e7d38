"""Go: which places of which names change. «count» marks them."""

# ruff: noqa: E501  programs read best as they are written

import pytest

from assay.code import analysis, variants
from support.marking import holds, kept

TRAPS = {
    "several at once, and results with names": """
func «Divide»(«a», «b» int, «rest» ...int) («quotient» int, «err» error) {
    «quotient», «left» := «a»/«b», «a»%«b»
    var «x», «y» int = «left», len(«rest»)
    const «limit» = 3
    _, «err» = fmt.Println(«x», «y», «limit»)
    return
}
""",
    "shadowing": """
func «f»(«x» int) int {
    if «x» := «x» * 2; «x» > 1 { return «x» } else if «y» := «x»; «y» > 0 { return «y» }
    for «i», «x» := range []int{«x»} { «x» += «i» }
    switch «x» := «x»; { case «x» > 1: «z» := «x»; return «z» }
    return «x»
}
""",
    "closures": """
func «f»(«n» int) func() int { «add» := func(«m» int) int { return «n» + «m» }; return func() int { «n»++; return «add»(«n») } }
""",
    "receivers, methods and members": """
type Point struct { width int; Next *Point }
func («p» *Point) Area(«width» int) int { return «p».width * «width» + «p».Next.Area(1) }
""",
    "packages are no variables": 'import "math"\nfunc «f»(«x» float64) float64 { return math.Abs(«x») }\n',
    "labels": "func «f»(«loop» int) { loop: for { if «loop» > 1 { continue loop }; break loop } }\n",
    "type switches, channels and goroutines": """
func «f»(«v» any, «ch» chan int) {
    switch «t» := «v».(type) { case int: «v» = «t»; default: _ = «t» }
    select { case «got», «ok» := <-«ch»: _, _ = «got», «ok»; case «ch» <- 1: }
    go «f»(«v», «ch»); defer «f»(nil, «ch»)
}
""",
    "generic functions": """
func «Map»[T, U any](«items» []T, «f» func(T) U) []U { var «out» []U; for _, «one» := range «items» { «out» = append(«out», «f»(«one»)) }; return «out» }
func «g»() { «Map»[int, string](nil, nil); «Map»([]int{}, nil) }
""",
    "keys of maps and indexes of arrays": "func «f»(«k», «v» int) any { return []any{map[int]int{«k»: «v»}, [3]int{«k»: «v»}} }\n",
    "names of the package": "var «total» = 1\nfunc «f»() int { return «total» + «limit» }\nconst «limit» = 2\n",
    "comments that speak of names": "// «SumOf» adds up «numbers», a list.\nfunc «SumOf»(«numbers» []int) int { return 0 } // «SumOf»(«numbers»)\n",
    "strings": 'func «f»(«x» string) string { return "x" + `f x` + «x» }\n',
}


@pytest.mark.parametrize("trap", TRAPS)
def test_just_these_places_change(trap):
    holds(TRAPS[trap], "go")


KEPT = {
    "main": ("func main() {}", "main", "Go looks for"),
    "init": ("func init() {}", "init", "Go looks for"),
    "a test": ("func TestAdd(t *testing.T) {}", "TestAdd", "test runners"),
    "a type": ("type Point struct{}", "Point", "a type"),
    "a parameter of a type": ("func f[T any](a T) T { return a }", "T", "a template parameter"),
    "an import of another name": ('import m "math"', "m", "imported"),
    "what may name a member": ("func f(x int) P { return P{x: x} }", "x", "a field of a literal"),
    "what may name a member further in": ("func f(x int) []P { return []P{{x: x}} }", "x", "a field of a literal"),
    "what is predeclared too": ("func f(a []int) int { len := len(a); return len }", "len", "declared elsewhere"),
    "functions that the program may see": ("func f() { runtime.Caller(0) }", "f", "may see"),
    "what a directive names": ("//go:linkname turn other\nfunc turn() {}", "turn", "a tool"),
    "what a string names": ('func turn() {}\nfunc f() { find("turn") }', "turn", "a string"),
}


@pytest.mark.parametrize("name", KEPT)
def test_these_names_stay(name):
    text, word, reason = KEPT[name]
    assert reason in kept(text, "go")[word]


def test_what_is_exported_stays_exported():
    result = variants("var count, Limit = 1, 2\nfunc SumOf() {}\nfunc sumOf() {}\n", 30, language="go")
    for variant in result.variants:
        for old, new in (*variant.functions.items(), *variant.variables.items()):
            assert old[0].isupper() == new[0].isupper()


def test_comments_that_are_code_for_c_are_refused():
    assert "speaks to C" in analysis('// int f();\nimport "C"\n', language="go").refused


def test_what_does_not_parse_is_refused():
    assert analysis("func f( {", language="go").refused == "does not parse as Go: line 1"
