"""The testbed's committed results: every experiment at scale `small`, three seeds. About 45 minutes on two quiet cores.

Tables 2, 9 and 11 come on top: their models write, which takes longer and was not timed at this scale.

    python benchmarks/testbed_results.py [--out runs/small] [--seeds 0,1,2] [--only table-1,honest-null]
        [--data humaneval=HumanEval.jsonl.gz]

Runs lie in the folder `--out`, shared by all experiments; killed and started again, it goes on. What they found goes to
results/testbed/ as JSON, with the list of who was planted by id and digest, and everything found in that folder to
docs/testbed-results.md as tables.
"""

import argparse
import gzip
import json
import shutil
from pathlib import Path

from assay.cli.testbed_runs import benchmarks_at
from assay.reports.experiment import write_finding
from assay.testbed.configuration import scale
from assay.testbed.experiments.bench import Bench
from assay.testbed.experiments.table import EXPERIMENTS
from assay.testbed.run import manifest_of

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "testbed"
PAGE = HERE.parent / "docs" / "testbed-results.md"
HEAD = """# What the testbed found

Made by `python benchmarks/testbed_results.py`, which runs each experiment below at scale `small`. One model of 2.6
million parameters, one recipe: [which detector to use](which-detector.md) says what follows and what does not. The
numbers as JSON, and who was planted by id and digest, lie in `benchmarks/results/testbed/`.
"""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/small"), help="folder of the runs")
    parser.add_argument("--seeds", default="0,1,2", help="whole numbers with commas")
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME=PATH", help="a benchmark for figure-2 and table-9"
    )
    parser.add_argument("--only", default=",".join(EXPERIMENTS), help="experiments with commas")
    options = parser.parse_args()
    seeds = tuple(int(seed) for seed in options.seeds.split(","))
    bench = Bench(options.out, scale("small"), seeds, benchmarks_at(options.data))
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(","):
        found = EXPERIMENTS[name].function(bench)
        write_finding(options.out / name, found, manifest_of(EXPERIMENTS[name].first_run(bench)))
        shutil.copy2(options.out / name / "finding.json", RESULTS / f"{name}.json")
        print(name)
    for run in sorted((options.out / "runs").glob("*/plant/members.jsonl")):
        folder = run.parents[1]
        lines = run.read_bytes()
        (RESULTS / f"{folder.name}-members.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
        about = {"configuration": json.loads((folder / "configuration.json").read_text("utf-8"))}
        about["manifest"] = {key: value for key, value in manifest_of(folder).items() if key != "command"}
        (RESULTS / f"{folder.name}.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    made = {name: options.out / name / "finding.md" for name in EXPERIMENTS}
    tables = [f"## {name}\n\n{path.read_text('utf-8')}" for name, path in made.items() if path.exists()]
    PAGE.write_text("\n".join([HEAD, *tables]), "utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
