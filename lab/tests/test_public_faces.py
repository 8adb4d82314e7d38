"""The contract between the laboratory and the product: the laboratory imports what the product shows to everybody."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT, LAB = ROOT / "src", ROOT / "lab" / "src" / "assay_lab"

EXCEPTIONS = {
    # makers of what ships write files that the product only reads
    "builtin": ("assay.cli", "assay.evaluation", "assay.ground_truth", "assay.retrieval.encoding", "assay.training"),
    "classifiers": ("assay.authorship",),
    "training": ("assay.training",),
    # statistics that experiments alone need, built on the sums of those of the product
    "evaluation": ("assay.evaluation",),
    # commands of the laboratory look like those of the product
    "cli": ("assay.cli", "assay.api.unseen"),
    # experiments that take a part of the product to pieces, to measure or to vary it alone
    "authorship": ("assay.authorship",),
    "detectors": ("assay.code.parse",),
    "performance": ("assay.ground_truth", "assay.retrieval"),
    "provenance": ("assay.provenance", "assay.corpora.surroundings"),
    "statistics": ("assay.evaluation", "assay.ground_truth.demo"),
    "variants": ("assay.leakage.naturalness",),
    # known truth: the same functions, counted and planted
    "testbed": ("assay.ground_truth",),
    # one name each, of which the product has no use for a user
    "bugs": ("assay.datasets", "assay.scan.contamination"),
    "pages": ("assay.reports.drawing",),
    "papers": ("assay.evaluation.divergence",),
    "rewrites": ("assay.unseen",),
}
"""Package of the laboratory → modules of the product that it may import past a face; the reason stands above."""


def faces():
    """Packages of the product with a list of public names."""
    return {".".join(path.parent.relative_to(PRODUCT).parts) for path in (PRODUCT / "assay").rglob("__init__.pyi")}


def deep_imports():
    """Package of the laboratory, place and module of every import past a face."""
    public = faces()
    assert {"assay", "assay.evaluation", "assay.corpora"} <= public
    for path in sorted(LAB.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for name in names:
                if name.startswith("assay.") and name.count(".") > 1 and name not in public:
                    package = path.relative_to(LAB).parts[0]
                    yield package, f"{path.relative_to(ROOT)}:{node.lineno}", name


def allowed(package, module):
    return any(f"{module}.".startswith(f"{prefix}.") for prefix in EXCEPTIONS.get(package, ()))


@pytest.mark.slow
def test_the_laboratory_imports_only_public_faces_but_for_named_exceptions():
    assert not [(place, module) for package, place, module in deep_imports() if not allowed(package, module)]


@pytest.mark.slow
def test_every_exception_is_used():
    found = [(package, module) for package, _, module in deep_imports()]
    unused = [
        (package, prefix)
        for package, prefixes in EXCEPTIONS.items()
        for prefix in prefixes
        if not any(package == own and f"{module}.".startswith(f"{prefix}.") for own, module in found)
    ]
    assert not unused


@pytest.mark.slow
def test_the_laboratory_imports_no_private_name():
    private = [
        (path.name, alias.name)
        for path in sorted(LAB.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay.")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert not private
