"""A server on loopback that plays an OpenAI-compatible API, and misbehaves as it is told."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Played:
    """What the server does and has seen.

    `script` holds answers to come, each a status with a body (bytes, or what becomes JSON) and headers; `reply` makes
    all others from path and request, alone or with status and headers.
    """

    def __init__(self, reply):
        self.reply = reply
        self.script = []
        self.asked = []
        self.headers = []
        self.lock = threading.Lock()
        self.gate = None

    def answer(self, path, request, headers):
        with self.lock:
            self.asked.append((path, request))
            self.headers.append(headers)
            if self.script:
                return self.script.pop(0)
        if self.gate is not None:
            self.gate.wait(20)
        found = self.reply(path, request)
        return found if isinstance(found, tuple) else (200, found, {})


@contextmanager
def served(reply):
    """(what is played, the URL of its API)."""
    played = Played(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, body, headers = played.answer(self.path, request, dict(self.headers))
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """A client that went away is part of the play."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield played, f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        if played.gate is not None:
            played.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text, logprobs=None, **more):
    """A reply of /completions."""
    return {"choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "length", **more}]}


def answer(text):
    """A reply of /chat/completions."""
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def with_context(reply, characters):
    """The same of a server that takes no more than so many characters, and refuses the rest as vLLM does."""

    def limited(path, request):
        prompt = request["messages"][0]["content"] if "messages" in request else request["prompt"]
        if len(prompt) <= characters:
            return reply(path, request)
        words = f"This model's maximum context length is 4,096 tokens. However, you requested {len(prompt)} tokens."
        return 400, {"error": {"message": words, "type": "BadRequestError", "code": 400}}, {}

    return limited


def table_replies(table):
    """The API over a table model: what a server of that model would say."""
    import numpy as np

    def reply(path, request):
        if "messages" in request:
            (message,) = request["messages"]
            return answer(next(table.generate([message["content"]], max_new_tokens=request["max_tokens"])))
        prompt = request["prompt"]
        if not request.get("echo"):
            (written,) = table.generate([prompt], max_new_tokens=request["max_tokens"], seed=request.get("seed", 0))
            return completion(written)
        (found,) = table.token_statistics([prompt])
        tokens = table.pieces(prompt)
        offsets = np.cumsum([0, *map(len, tokens)])[:-1].tolist()
        values = [None, *map(float, found.log_probs)]
        return completion(prompt, {"tokens": tokens, "token_logprobs": values, "text_offset": offsets})

    return reply
