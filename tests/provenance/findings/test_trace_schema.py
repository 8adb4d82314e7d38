"""The JSON of `assay trace` keeps its published schema; a change of the schema is a change of its version."""

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

from assay.corpora import Document, Origin, SourceText
from assay.licences import read_rules
from assay.provenance import CodeIndex, describe_files, judge, trace_file
from assay.provenance.findings.describing import TRACE_VERSION
from assay.provenance.findings.schema import FindingFields

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
PUBLISHED = {
    "1.0": "21d646fddb6810f6ae0e7e1875024e0e9e787d9f0ab73ce4a33e175ee3bc8122",
    "1.1": "11f5aa140921020f482201e2b45f3b6e016a6f3f15a737910001879811467449",
    "1.2": "fb97d5352a18a479f31487b5ff28081313d7d0a8e12b92ec9bdbc011370f9515",
}
"""Version → digest of its schema. A line here is never changed: a new schema gets a new version and a new line."""

SCHEMA = json.loads((SCHEMAS / f"trace-{TRACE_VERSION}.json").read_text())
CODE = "def share_of(total, parts):\n" + "".join(f"    part_{at} = total * {at} + parts[{at}]\n" for at in range(12))


def test_the_schema_changes_with_its_version_alone():
    """After raising `TRACE_VERSION`, write a new file, and add its digest above."""
    for version, digest in PUBLISHED.items():
        assert hashlib.sha256((SCHEMAS / f"trace-{version}.json").read_bytes()).hexdigest() == digest
    assert TRACE_VERSION in PUBLISHED
    assert SCHEMA["properties"]["schema_version"]["const"] == TRACE_VERSION


def test_a_finding_of_the_service_is_one_of_the_schema():
    service, published = FindingFields.model_json_schema(), SCHEMA["$defs"]
    assert service["$defs"]["PlaceData"] == published["PlaceData"]
    decided = {name: published["FindingData"]["properties"][name] for name in ("denied", "accepted")}
    assert service["properties"] | decided == published["FindingData"]["properties"]


@pytest.mark.parametrize("rules", [None, read_rules(["copyleft"]), read_rules(["MIT"])])
@pytest.mark.parametrize("licence", ["GPL-3.0-only", "unknown", "MIT"])
def test_real_outputs_have_the_schema(tmp_path, rules, licence):
    with CodeIndex.create(tmp_path / "i") as index:
        origin = Origin("shop", "share.py", "owner/shop", "0" * 40, licence, "Ada", "https://a.b/c", 3, "1" * 40)
        index.add([Document(CODE, "python", "function", "share_of", (origin, Origin("farm", "b.py")))])
        index.commit()
        texts = [f"import os\n\n\n{CODE}", "x = 1\n", CODE.replace("part", "piece"), ""]
        files = [trace_file(SourceText(f"{at}.py", text, "python"), index) for at, text in enumerate(texts)]
    data = json.loads(json.dumps(describe_files(files, 5, judge(files, rules) if rules else None).data))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["schema_version"] == TRACE_VERSION
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(data | {"further": 1})
