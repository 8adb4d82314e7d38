"""Layouts of the files that harnesses write, one function each: content → runs, or None for another layout."""

from assay.agent_runs.layouts.chat import mini_swe_agent
from assay.agent_runs.layouts.events import openhands
from assay.agent_runs.layouts.inspect_log import inspect_runs, is_inspect_log, run_of_messages
from assay.agent_runs.layouts.sessions import claude_code, codex
from assay.agent_runs.layouts.trajectories import harbor, swe_agent

__all__ = [
    "claude_code",
    "codex",
    "harbor",
    "inspect_runs",
    "is_inspect_log",
    "mini_swe_agent",
    "openhands",
    "run_of_messages",
    "swe_agent",
]
