"""One toy run of an agent in the layout of every harness: it shows a commit, and writes the fix."""

import json

PATCH = """diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,6 +10,8 @@ class Cart:
     def total(self, rate):
         prices = [item.price for item in self.items]
-        return sum(prices) * rate
+        if not self.items:
+            raise EmptyCartError("a cart without items has no total")
+        return round(sum(prices) * (1 + rate), DIGITS)

     def clear(self):
         self.items = []
"""
TESTS = """diff --git a/tests/test_cart.py b/tests/test_cart.py
--- a/tests/test_cart.py
+++ b/tests/test_cart.py
@@ -3,3 +3,9 @@
 def test_clear(cart):
     cart.clear()
     assert not cart.items
+
+
+def test_an_empty_cart_has_no_total(empty_cart):
+    with pytest.raises(EmptyCartError, match="without items"):
+        empty_cart.total(rate=0.25)
+    assert empty_cart.total_or_zero(rate=0.25) == 0
"""
TASK = {
    "instance_id": "shop__shop-7",
    "repo": "shop/shop",
    "base_commit": "",
    "patch": PATCH,
    "test_patch": TESTS,
    "problem_statement": "The total of an empty cart is zero, and that surprises the people at the till every morning.",
}
SHOW = "cd /testbed && git log --all -p -S total | head -100"
COMMIT = f"commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@example.org>\n\n    Fix\n\n{PATCH}"
CALLS = (("ls", "shop tests"), (SHOW, COMMIT), ("sed -n '1,40p' shop/cart.py", "class Cart:\n"))
"""Commands and their outputs; the second one reads the fix."""
PROMPT = f"Solve this: {TASK['problem_statement']}"


def chat(calls=CALLS):
    """Messages of a chat with tool calls."""
    messages = [{"role": "system", "content": "You solve tasks."}, {"role": "user", "content": PROMPT}]
    for number, (command, output) in enumerate(calls):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        messages.append(
            {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    return messages


def mini_swe_agent(calls=CALLS, **info):
    """Version 2: tool calls."""
    config = {"environment": {"cwd": "/testbed"}}
    facts = {"exit_status": "Submitted", "submission": "", "config": config, **info}
    return "shop__shop-7.traj.json", json.dumps(
        {"instance_id": "shop__shop-7", "info": facts, "messages": chat(calls), "trajectory_format": "mini-swe-agent-1"}
    )


def mini_swe_agent_1(calls=CALLS):
    """Version 1: a command in a fenced block."""
    messages = [{"role": "user", "content": PROMPT}]
    for command, output in calls:
        messages.append({"role": "assistant", "content": f"THOUGHT: look\n\n```bash\n{command}\n```"})
        messages.append({"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{output}</output>"})
    info = {"exit_status": "Submitted", "submission": ""}
    return "shop__shop-7.traj.json", json.dumps({"info": info, "messages": messages})


def swe_agent(calls=CALLS):
    """A `.traj` file."""
    trajectory = [
        {"action": command, "observation": output, "response": "", "thought": "", "state": {"working_dir": "/testbed"}}
        for command, output in calls
    ]
    history = [{"role": "system", "content": "x"}, {"role": "user", "content": PROMPT}]
    content = {"environment": "main", "trajectory": trajectory, "history": history, "info": {"submission": ""}}
    return "shop__shop-7.traj", json.dumps(content)


def openhands(calls=CALLS):
    """A row of output.jsonl, before version 1."""
    history = [{"id": 0, "source": "user", "action": "message", "args": {"content": PROMPT}}]
    for number, (command, output) in enumerate(calls):
        action = {"id": 2 * number + 1, "source": "agent", "action": "run", "args": {"command": command, "thought": ""}}
        seen = {"id": 2 * number + 2, "source": "agent", "observation": "run", "content": output, "cause": action["id"]}
        history += [action, seen]
    row = {
        "instance_id": "shop__shop-7",
        "test_result": {"git_patch": ""},
        "history": history,
        "report": {"resolved": True},
    }
    return "output.jsonl", json.dumps(row) + "\n"


def openhands_1(calls=CALLS):
    """A row of output.jsonl since version 1."""
    history = []
    for number, (command, output) in enumerate(calls):
        call = {"id": f"c{number}", "name": "terminal", "arguments": json.dumps({"command": command})}
        common = {"tool_name": "terminal", "tool_call_id": f"c{number}"}
        action = {"command": command, "kind": "TerminalAction"}
        history.append({"kind": "ActionEvent", "source": "agent", **common, "action": action, "tool_call": call})
        observed = {"content": [{"type": "text", "text": output}], "kind": "TerminalObservation"}
        history.append({"kind": "ObservationEvent", "source": "environment", **common, "observation": observed})
    return "output.jsonl", json.dumps({"instance_id": "shop__shop-7", "test_result": {}, "history": history}) + "\n"


def harbor(calls=CALLS):
    """An ATIF trajectory."""
    steps = [{"step_id": 1, "source": "user", "message": PROMPT}]
    for number, (command, output) in enumerate(calls, 2):
        call = {"tool_call_id": f"c{number}", "function_name": "bash", "arguments": {"command": command}}
        results = [{"source_call_id": f"c{number}", "content": output}]
        step = {"step_id": number, "source": "agent", "message": "", "tool_calls": [call]}
        steps.append({**step, "observation": {"results": results}})
    agent = {"name": "terminus-2", "version": "2", "model_name": "m"}
    content = {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": steps}
    return "shop__shop-7__Ab3dEf2/agent/trajectory.json", json.dumps(content, indent=2)


def claude_code(calls=CALLS):
    """A session of Claude Code."""
    common = {"sessionId": "s", "cwd": "/testbed"}
    rows = [{"type": "user", "message": {"role": "user", "content": PROMPT}, **common}]
    for number, (command, output) in enumerate(calls):
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Bash",
            "input": {"command": command, "description": "x"},
        }
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": [{"type": "text", "text": output}]}
        rows.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}, **common})
        rows.append({"type": "user", "message": {"role": "user", "content": [result]}, **common})
    return "0a1b.jsonl", "".join(json.dumps(row) + "\n" for row in rows)


def codex(calls=CALLS):
    """A session of Codex."""
    rows = [{"timestamp": "2026-01-01", "type": "session_meta", "payload": {"id": "s", "cwd": "/testbed"}}]
    content = [{"type": "input_text", "text": PROMPT}]
    items = [{"type": "message", "role": "user", "content": content}]
    for number, (command, output) in enumerate(calls):
        arguments = json.dumps({"command": ["bash", "-lc", command], "workdir": "/testbed"})
        items.append({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": f"c{number}"})
        wrapped = json.dumps({"output": output, "metadata": {"exit_code": 0}})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": wrapped})
    rows += [{"timestamp": "2026-01-01", "type": "response_item", "payload": item} for item in items]
    return "rollout-2026.jsonl", "".join(json.dumps(row) + "\n" for row in rows)


def claude_stream(calls=CALLS):
    """Events that Claude Code prints."""
    name, text = claude_code(calls)
    start = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/testbed"}
    return name, json.dumps(start) + "\n" + text.replace('"sessionId"', '"session_id"')


def codex_events(calls=CALLS):
    """Events that Codex prints, without the text of the task."""
    rows = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]
    for number, (command, output) in enumerate(calls):
        item = {"id": f"item_{number}", "type": "command_execution", "command": command, "aggregated_output": ""}
        rows.append({"type": "item.started", "item": item})
        rows.append({"type": "item.completed", "item": item | {"aggregated_output": output, "exit_code": 0}})
    return "shop__shop-7.jsonl", "".join(json.dumps(row) + "\n" for row in rows)


def write(folder, made):
    """Write a file of a layout below a folder, and return its path."""
    name, text = made
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_tasks(folder, **changes):
    """Write the table of the one task, and return its path."""
    path = folder / "tasks.jsonl"
    path.write_text(json.dumps(TASK | changes) + "\n")
    return path


LAYOUTS = (
    mini_swe_agent,
    mini_swe_agent_1,
    swe_agent,
    openhands,
    openhands_1,
    harbor,
    claude_code,
    codex,
    claude_stream,
    codex_events,
)
