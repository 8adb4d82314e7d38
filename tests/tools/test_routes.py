"""The way of an audit and the readers of its options are counted as the definitions say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import routes

FILES = {
    "cli/audit.py": "from assay.api import audit\nfrom assay.reports import show\n\n\n"
    "def audit_command():\n    show(audit())\n    _last()\n\n\ndef _last():\n    pass\n",
    "api/__init__.py": "",
    "api/__init__.pyi": "from .settings import AuditSettings as AuditSettings\nfrom .auditing import audit as audit\n",
    "api/settings.py": "class AuditSettings:\n    PANEL: str = ''\n    seed: int = 0\n    rate: float = 1\n",
    "api/auditing.py": "from assay.api.settings import AuditSettings\nfrom assay.models import opened\n\n\n"
    "def audit(settings: AuditSettings):\n    return opened(settings.seed)\n",
    "models/__init__.py": "def opened(seed):\n    return seed\n",
    "reports/__init__.py": "def show(text):\n    pass\n",
}


def sources(folder: Path) -> routes.Sources:
    for name, text in FILES.items():
        path = folder / "src" / "assay" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return routes.Sources.below(folder)


def test_a_stay_in_a_folder_counts_once_and_foundations_do_not(tmp_path):
    assert routes.way(sources(tmp_path)) == ["cli", "api", "reports", "cli"]


def test_an_option_is_read_where_an_object_of_its_class_is(tmp_path):
    assert routes.readers_of_options(sources(tmp_path)) == {"seed": {"assay.api.auditing"}, "rate": set()}
