"""Further forms of the toy run: what harnesses wrote in other versions, and what their files leave out."""

import json

from support.agent_files import CALLS, PATCH, PROMPT, SHOW, claude_code, codex, harbor, mini_swe_agent, openhands_1

TASK_ID = "shop__shop-7"
COMMON = {"sessionId": "s", "cwd": "/testbed"}


def lines(*rows):
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def mini_swe_agent_actions(calls=CALLS):
    """Version 2 without tool calls: the commands that the harness found in the text stand beside it."""
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": PROMPT}]
    for command, output in calls:
        extra = {"actions": [{"command": command}]}
        messages.append({"role": "assistant", "content": f"<run>{command}</run>", "extra": extra})
        messages.append({"role": "user", "content": output, "extra": {"raw_output": output, "returncode": 0}})
    messages.append({"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": ""}})
    content = {"info": {"exit_status": "Submitted"}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return f"{TASK_ID}/{TASK_ID}.traj.json", json.dumps(content)


def mini_swe_agent_xml(calls=CALLS):
    """Commands between tags."""
    name, text = mini_swe_agent_actions(calls)
    return name, text.replace("<run>", "<mswea_bash_command>").replace("</run>", "</mswea_bash_command>").replace(
        '"actions"', '"other"'
    )


def mini_swe_agent_responses(calls=CALLS):
    """The responses API: an answer is an object, an output has no role."""
    messages = [{"role": "user", "content": PROMPT}]
    for number, (command, output) in enumerate(calls):
        arguments = json.dumps({"command": command})
        call = {"type": "function_call", "call_id": f"c{number}", "name": "bash", "arguments": arguments}
        messages.append({"object": "response", "output": [{"type": "reasoning", "summary": []}, call]})
        messages.append({"type": "function_call_output", "call_id": f"c{number}", "output": output})
    return f"{TASK_ID}.traj.json", json.dumps({"info": {}, "messages": messages})


def anthropic_chat(calls=CALLS):
    """Messages whose content is a list of blocks."""
    messages = [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}]
    for number, (command, output) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]})
        messages.append({"role": "user", "content": [result]})
    return f"{TASK_ID}.json", json.dumps({"messages": messages})


def swe_agent_attempts(calls=CALLS):
    """A run of several attempts, none of which was chosen; the state is JSON within JSON, queries repeat messages."""
    state = json.dumps({"working_dir": "/testbed", "open_file": "n/a"})
    steps = [
        {"action": command, "observation": output, "response": "x", "state": state, "query": [{"role": "user"}]}
        for command, output in calls
    ]
    history = [{"role": "user", "content": [{"type": "text", "text": PROMPT}], "message_type": "observation"}]
    attempt = {"trajectory": steps, "history": history, "info": {"submission": "", "exit_status": "submitted"}}
    return f"{TASK_ID}/{TASK_ID}.traj", json.dumps({"attempts": [attempt]})


def openhands_pairs(calls=CALLS):
    """The oldest version: pairs of action and observation."""
    history = [[{"source": "user", "action": "message", "args": {"content": PROMPT}}, {"observation": "null"}]]
    for command, output in calls:
        action = {"source": "agent", "action": "run", "args": {"command": command, "thought": "x"}}
        history.append([action, {"observation": "run", "content": output, "extras": {"exit_code": 0}}])
    row = {"instance_id": TASK_ID, "test_result": {}, "history": history}
    return "output.jsonl", lines(row)


def openhands_functions(calls=CALLS):
    """Version 1 as it was first: the arguments within `function`, the output without parts."""
    name, text = openhands_1(calls)
    row = json.loads(text)
    for event in row["history"]:
        if call := event.get("tool_call"):
            function = {"name": call.pop("name"), "arguments": call.pop("arguments")}
            event["tool_call"] = {**call, "type": "function", "function": function}
        elif "observation" in event:
            output = event["observation"].pop("content")[0]["text"]
            event["observation"] |= {"kind": "ExecuteBashObservation", "output": output, "exit_code": 0}
    return name, lines(row)


def openhands_acp(calls=CALLS):
    """Another agent within OpenHands: a call is told by several events, and has its input in the first."""
    history = [
        {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"type": "text", "text": PROMPT}]}}
    ]
    for number, (command, output) in enumerate(calls):
        event = {"kind": "ACPToolCallEvent", "source": "agent", "tool_call_id": f"c{number}", "tool_kind": "execute"}
        history.append({**event, "title": "Bash", "status": "in_progress", "raw_input": {"command": command}})
        history.append({**event, "title": "Bash", "status": "completed", "raw_output": {"stdout": output}})
    return "output.jsonl", lines({"instance_id": TASK_ID, "test_result": {}, "history": history})


def harbor_screen(calls=CALLS):
    """A terminal: all keystrokes of a step are answered by one screen, and an empty one waits for the rest."""
    name, text = harbor(calls)
    content = json.loads(text)
    for step in content["steps"][1:]:
        (call,), (result,) = step["tool_calls"], step["observation"]["results"]
        call["arguments"] = {"keystrokes": call["arguments"]["command"] + "\n", "duration": 0.1}
        del result["source_call_id"]
        wait = {"tool_call_id": call["tool_call_id"] + "w", "function_name": "bash", "arguments": {"keystrokes": "\n"}}
        step["tool_calls"].append(wait)
    return name, json.dumps(content | {"schema_version": "ATIF-v1.2"})


def harbor_raw(calls=CALLS):
    """The answers of the model as they were, with the keystrokes in their JSON; the output is a list of parts."""
    name, text = harbor(calls)
    content = json.loads(text)
    for step in content["steps"][1:]:
        (call,), (result,) = step.pop("tool_calls"), step["observation"]["results"]
        command = {"keystrokes": call["arguments"]["command"], "duration": 1}
        step["message"] = json.dumps({"analysis": "x", "commands": [command]})
        step["observation"]["results"] = [{"content": [{"type": "text", "text": result["content"]}]}]
    return name, json.dumps(content | {"schema_version": "ATIF-v1.5"})


def harbor_subagent(calls=CALLS):
    """A sub-agent within the file (version 1.7) that makes all calls."""
    name, text = harbor(calls)
    content = json.loads(text)
    part = {"schema_version": "ATIF-v1.7", "trajectory_id": "sub", "agent": {}, "steps": content["steps"][1:]}
    reference = {"subagent_trajectory_ref": [{"trajectory_id": "sub"}]}
    delegating = {"step_id": 2, "source": "agent", "message": "", "observation": {"results": [reference]}}
    steps = [content["steps"][0], delegating]
    whole = content | {"schema_version": "ATIF-v1.7", "steps": steps, "subagent_trajectories": [part]}
    return name, json.dumps(whole)


def claude_code_parts(calls=CALLS):
    """A session with lines of other kinds, a text as the output, and one output that stands beside its message only."""
    rows = [json.loads(line) for line in claude_code(calls)[1].splitlines()]
    for number, row in enumerate(rows):
        for part in row["message"]["content"] if isinstance(row["message"]["content"], list) else ():
            if part["type"] == "tool_result":
                text = part["content"][0]["text"]
                part["content"] = "" if number == 4 else text
                row["toolUseResult"] = {"stdout": text, "stderr": "", "interrupted": False}
    other = [{"type": "queue-operation", "operation": "enqueue"}, {"type": "file-history-snapshot", "snapshot": {}}]
    return "0a1b.jsonl", lines(*other, *rows, {"type": "summary", "summary": "A fix", "leafUuid": "x"})


def claude_code_sidechain(calls=CALLS):
    """A sub-agent within the file that makes all calls."""
    prompt, *rows = (json.loads(line) for line in claude_code(calls)[1].splitlines())
    use = {"type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "Look for it"}}
    start = {"type": "assistant", "message": {"role": "assistant", "content": [use]}, **COMMON}
    inner = [{**row, "isSidechain": True, "agentId": "a1"} for row in rows]
    result = {"type": "tool_result", "tool_use_id": "task", "content": "done"}
    end = {"type": "user", "message": {"role": "user", "content": [result]}, **COMMON}
    return "0a1b.jsonl", lines(prompt, start, *inner, end)


def codex_local_shell(calls=CALLS):
    """Calls of the shell that the model's provider defines."""
    rows = []
    for row in map(json.loads, codex(calls)[1].splitlines()):
        item = row["payload"]
        if item.get("type") == "function_call":
            words = json.loads(item["arguments"])["command"]
            action = {"type": "exec", "command": words, "working_directory": "/testbed", "timeout_ms": 1}
            row["payload"] = {"type": "local_shell_call", "call_id": item["call_id"], "action": action, "status": "x"}
        rows.append(row)
    return "rollout-2026.jsonl", lines(*rows)


def codex_unified(calls=CALLS):
    """A command that goes on: its output comes with a later call."""
    rows = [row for row in map(json.loads, codex(())[1].splitlines()) if row["type"] == "session_meta"]
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}
    items = [message]
    for number, (command, output) in enumerate(calls):
        call = {"type": "function_call", "name": "exec_command", "call_id": f"c{number}"}
        items.append({**call, "arguments": json.dumps({"cmd": command, "workdir": "/testbed"})})
        going_on = f"Wall time: 1.0 seconds\nProcess running with session ID {number}\nOutput:\n"
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": going_on})
        arguments = json.dumps({"session_id": number, "chars": ""})
        items.append({**call, "name": "write_stdin", "call_id": f"w{number}", "arguments": arguments})
        parts = [{"type": "input_text", "text": output}]
        items.append({"type": "function_call_output", "call_id": f"w{number}", "output": parts})
    rows += [{"timestamp": "t", "type": "response_item", "payload": item} for item in items]
    return "rollout-2026.jsonl", lines(*rows, {"type": "event_msg", "payload": {"type": "token_count"}})


def codex_program(calls=CALLS):
    """A program that calls the tools."""
    rows = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/testbed"}}]
    rows.append({"type": "response_item", "payload": {"type": "message", "role": "user", "content": PROMPT}})
    for number, (command, output) in enumerate(calls):
        program = f"const done = await tools.exec_command({{cmd: {json.dumps(command)}}});\ntext(done.output)"
        call = {"type": "custom_tool_call", "name": "exec", "call_id": f"c{number}", "input": program}
        answer = {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": output}
        rows += [{"type": "response_item", "payload": item} for item in (call, answer)]
    return "rollout-2026.jsonl", lines(*rows)


def codex_old_events(calls=CALLS):
    """Events that an older version prints: one for the beginning of a command, one for its end."""
    rows = [{"model": "m", "sandbox": "x"}, {"id": "0", "msg": {"type": "user_message", "message": PROMPT}}]
    for number, (command, output) in enumerate(calls):
        call = {"call_id": f"c{number}", "command": ["bash", "-lc", command], "cwd": "/testbed"}
        rows.append({"id": "0", "msg": {"type": "exec_command_begin", **call}})
        end = {"type": "exec_command_end", "call_id": f"c{number}", "stdout": output, "stderr": "", "exit_code": 0}
        rows.append({"id": "0", "msg": end})
    return "events.jsonl", lines(*rows)


def codex_object(calls=CALLS):
    """The first version: one object a session."""
    rows = [json.loads(line)["payload"] for line in codex(calls)[1].splitlines()]
    return "rollout-2025.json", json.dumps({"session": {"id": "s"}, "items": rows[1:]}, indent=1)


VARIANTS = (
    mini_swe_agent_actions,
    mini_swe_agent_xml,
    mini_swe_agent_responses,
    anthropic_chat,
    swe_agent_attempts,
    openhands_pairs,
    openhands_functions,
    openhands_acp,
    harbor_screen,
    harbor_raw,
    harbor_subagent,
    claude_code_parts,
    claude_code_sidechain,
    codex_local_shell,
    codex_unified,
    codex_program,
    codex_old_events,
    codex_object,
)


def without_text(layout):
    """A run in which the call that reads the fix has no output in the file, and the agent wrote the fix afterwards."""
    added = "\n".join(row[1:] for row in PATCH.splitlines() if row.startswith("+") and not row.startswith("+++"))
    fixing = (f"cat > shop/cart.py <<'EOF'\n{added}\nEOF", "")
    return layout(((SHOW, "LEFT OUT"), ("ls", "shop"), fixing))


def mini_swe_agent_without_output(_=CALLS):
    """An answer is missing."""
    name, text = without_text(mini_swe_agent)
    content = json.loads(text)
    del content["messages"][3]
    return name, json.dumps(content)


def claude_code_image(_=CALLS):
    """An answer is an image."""
    name, text = without_text(claude_code)
    return name, text.replace('{"type": "text", "text": "LEFT OUT"}', '{"type": "image", "source": {}}')


def codex_web_search(_=CALLS):
    """The results of the provider's search are not in the file."""
    name, text = without_text(codex)
    rows = [row for row in map(json.loads, text.splitlines()) if row["payload"].get("call_id") != "c0"]
    search = {
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "open_page", "url": "https://x.org/7"},
    }
    rows.insert(2, {"type": "response_item", "payload": search})
    return name, lines(*rows)


def codex_file_change(_=CALLS):
    """Printed events name the files that were changed, not the text."""
    rows = [{"type": "thread.started", "thread_id": "t"}]
    items = [{"type": "command_execution", "command": "ls", "aggregated_output": "shop"}]
    items.append({"type": "file_change", "changes": [{"path": "/testbed/shop/cart.py", "kind": "update"}]})
    rows += [{"type": "item.completed", "item": {"id": f"i{number}", **item}} for number, item in enumerate(items)]
    return f"{TASK_ID}.jsonl", lines(*rows)


def claude_code_subagent(_=CALLS):
    """A sub-agent's lines are nowhere."""
    rows = [json.loads(line) for line in claude_code(CALLS[:1])[1].splitlines()]
    use = {"type": "tool_use", "id": "task", "name": "Agent", "input": {"prompt": "Look for it"}}
    result = {"type": "tool_result", "tool_use_id": "task", "content": [{"type": "text", "text": "done"}]}
    rows.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}, **COMMON})
    rows.append({"type": "user", "message": {"role": "user", "content": [result]}, **COMMON})
    return "0a1b.jsonl", lines(*rows)


def claude_code_goes_on(_=CALLS):
    """A session that begins with the summary of an earlier one."""
    name, text = claude_code(CALLS[:1])
    row = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "Before: …"}, **COMMON}
    return name, lines(row) + text


def harbor_reference(_=CALLS):
    """A sub-agent in a file that is not there."""
    name, text = harbor(CALLS[:1])
    content = json.loads(text)
    reference = {"session_id": "sub", "trajectory_path": "trajectory.sub.json"}
    content["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"] = [reference]
    return name, json.dumps(content)


def openhands_delegates(_=CALLS):
    """A sub-agent whose events are elsewhere."""
    name, text = openhands_1(CALLS[:1])
    return name, text.replace('"tool_name": "terminal"', '"tool_name": "delegate"')


def mini_swe_agent_killed(_=CALLS):
    """Saved before the end."""
    name, text = mini_swe_agent(CALLS[:1], exit_status=None)
    return name, text


INCOMPLETE = {
    mini_swe_agent_without_output: "the output of step 1 is not in the file",
    claude_code_image: "the output of step 1 is not in the file",
    codex_web_search: "the output of step 1 is not in the file",
    codex_file_change: "not what it wrote",
    claude_code_subagent: "sub-agent",
    claude_code_goes_on: "earlier",
    harbor_reference: "sub-agent",
    openhands_delegates: "sub-agent",
    mini_swe_agent_killed: "no end",
}
"""Form of a file that lacks a part → a word of the reason why there is no verdict."""
