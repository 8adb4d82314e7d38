from .table import READERS as READERS
from .table import harness_of as harness_of
from .table import read_task_results as read_task_results
