"""Source code as such: verified variants of texts in six languages, other test cases, and a sandbox to run them in."""

from assay.code.examples import Problem
from assay.code.languages import LANGUAGES, analysis, difference
from assay.code.names import Analysis, Kind, Renamable
from assay.code.neighbors import neighbors_of
from assay.code.pools import DictionaryPool, NamePool, NeighborPool
from assay.code.proposed_names import ProposedPool, names_proposed_by
from assay.code.renamable import keywords_of
from assay.code.sandbox import DEFAULT_LIMITS, Execution, Limits, require_sandbox, run, run_python
from assay.code.test_case_writing import written_tests
from assay.code.test_cases import ReplacedTests, replaced_tests
from assay.code.variants import Variant, VariantSet, variants
from assay.code.verification import Verifier
from assay.code.writing import WrittenVariants, written_variants

__all__ = [
    "DEFAULT_LIMITS",
    "LANGUAGES",
    "Analysis",
    "DictionaryPool",
    "Execution",
    "Kind",
    "Limits",
    "NamePool",
    "NeighborPool",
    "Problem",
    "ProposedPool",
    "Renamable",
    "ReplacedTests",
    "Variant",
    "VariantSet",
    "Verifier",
    "WrittenVariants",
    "analysis",
    "difference",
    "keywords_of",
    "names_proposed_by",
    "neighbors_of",
    "replaced_tests",
    "require_sandbox",
    "run",
    "run_python",
    "variants",
    "written_tests",
    "written_variants",
]
