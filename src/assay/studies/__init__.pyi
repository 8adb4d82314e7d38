from .contamination import BenchmarkTrace as BenchmarkTrace
from .contamination import trace_benchmark as trace_benchmark
from .describing import describe_benchmark as describe_benchmark
