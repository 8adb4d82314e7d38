"""The testbed's committed results: every experiment at scale `small`, three seeds. About 90 minutes on a quiet core.

    python benchmarks/testbed_results.py [--out runs/small] [--seeds 0,1,2] [--only table-1,honest-null]
        [--data humaneval=HumanEval.jsonl.gz]
    python benchmarks/testbed_results.py --scale benchmarks/weak.toml --out runs/weak --seeds 3,4,5 --only every-cell

Runs lie in the folder `--out`, shared by all experiments; killed and started again, it goes on. What they found goes to
results/testbed/ as JSON, with the list of who was planted by id and digest, and as tables to docs/testbed-results.md,
where what other calls found stays as it is.
"""

import argparse
import gzip
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay.cli.testbed_runs import benchmarks_at
from assay.experiments.bench import Bench
from assay.experiments.describing import write_finding
from assay.experiments.table import EXPERIMENTS
from assay.testbed.configuration import read_configuration, scale
from assay.testbed.evaluate import SCORES
from assay.testbed.running import CONFIGURATION, manifest_of

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "testbed"
PAGE = HERE.parent / "docs" / "testbed-results.md"
SMALL = "small"
HEAD = """# What the testbed found

Made by `python benchmarks/testbed_results.py`, which runs each experiment below at scale `small`; those whose name ends
in `-weak` with the configuration `benchmarks/weak.toml`. One model of 2.6 million parameters, one recipe each:
[which detector to use](which-detector.md) says what follows and what does not. The numbers as JSON, and who was planted
by id and digest, lie in `benchmarks/results/testbed/`.
"""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/small"), help="folder of the runs")
    parser.add_argument("--scale", default=SMALL, help="a scale, or a configuration file")
    parser.add_argument("--seeds", default="0,1,2", help="whole numbers with commas")
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME=PATH", help="a benchmark for figure-2 and table-9"
    )
    parser.add_argument("--only", default=",".join(EXPERIMENTS), help="experiments with commas")
    options = parser.parse_args()
    seeds = tuple(int(seed) for seed in options.seeds.split(","))
    bench = Bench(options.out, scale(options.scale), seeds, benchmarks_at(options.data))
    suffix = "" if options.scale == SMALL else f"-{Path(options.scale).stem}"
    RESULTS.mkdir(parents=True, exist_ok=True)
    tables = {}
    for name in options.only.split(","):
        found = EXPERIMENTS[name].function(bench)
        write_finding(options.out / name, found, manifest_of(EXPERIMENTS[name].first_run(bench)))
        shutil.copy2(options.out / name / "finding.json", RESULTS / f"{name}{suffix}.json")
        tables[f"{name}{suffix}"] = (options.out / name / "finding.md").read_text("utf-8")
        print(name, flush=True)
    for planted in sorted((options.out / "runs").glob("*/plant/members.jsonl")):
        folder, lines = planted.parents[1], planted.read_bytes()
        last = read_configuration(folder / CONFIGURATION).training.checkpoints[-1]
        if not (folder / SCORES / f"epoch-{last}.parquet").exists():  # of an experiment that is not done yet
            continue
        (RESULTS / f"{folder.name}-members.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
        about = {"configuration": json.loads((folder / CONFIGURATION).read_text("utf-8"))}
        about["manifest"] = {key: value for key, value in manifest_of(folder).items() if key != "command"}
        (RESULTS / f"{folder.name}.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    PAGE.write_text(page_with(tables), "utf-8")
    print(PAGE)


def page_with(tables: Mapping[str, str]) -> str:
    """The page with these tables in place of their earlier ones, every other as it is, in the order of experiments."""
    known = PAGE.read_text("utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"^## ([\w-]+)\n\n(.*?)(?=^## |\Z)", known, re.DOTALL | re.MULTILINE))
    sections |= tables
    ordered = [name for one in EXPERIMENTS for name in sections if name == one or name.startswith(f"{one}-")]
    return "\n".join([HEAD, *(f"## {name}\n\n{sections[name].rstrip()}\n" for name in ordered)])


if __name__ == "__main__":
    main()
