from .contamination import BenchmarkTrace as BenchmarkTrace
from .contamination import trace_benchmark as trace_benchmark
from .describing import describe_benchmark as describe_benchmark
from .regression import Average as Average
from .regression import Coefficient as Coefficient
from .regression import MixedModel as MixedModel
from .regression import fit_mixed_model as fit_mixed_model
