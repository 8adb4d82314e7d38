"""The contract between the laboratory and the product: the laboratory imports what the product shows to everybody."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT, LAB = ROOT / "src", ROOT / "lab" / "src" / "assay_lab"


def faces():
    """Packages of the product with a list of public names."""
    return {".".join(path.parent.relative_to(PRODUCT).parts) for path in (PRODUCT / "assay").rglob("__init__.pyi")}


def deep_imports():
    """Place and module of every import past a face."""
    public = faces()
    assert {"assay", "assay.evaluation", "assay.corpora"} <= public
    for path in sorted(LAB.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for name in names:
                if name.startswith("assay.") and name.count(".") > 1 and name not in public:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", name


def test_the_laboratory_imports_only_public_faces():
    assert list(deep_imports()) == []


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
