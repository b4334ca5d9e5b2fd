"""A stand-in for the Messages API, so that the real CLI can be driven without a network.

What the "model" does is written into the prompt: each directive is one turn, played in order.

    %%tool NAME {json}   answer with one use of a tool
    %%file PATH          take the directives from that file, one a line

After the last one it answers `DONE: <start of the last tool result>`; a prompt without directives
is answered `ok: <prompt>`. Python's standard library only.
"""

import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"input_tokens": 10, "output_tokens": 5,
         "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def directives(text):
    """The (tool, input) pairs a prompt asks for."""
    from_file = re.search(r"%%file (\S+)", text)
    if from_file:
        with open(from_file.group(1), encoding="utf-8") as script:
            text = script.read()
    found = re.findall(r"%%tool (\S+) (\{.*\})", text)
    return [(name, json.loads(arguments)) for name, arguments in found]


def texts(content):
    """The text blocks of a message, without what the CLI adds by itself."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    found = [block.get("text", "") for block in blocks if block.get("type") == "text"]
    return [text for text in found if not text.lstrip().startswith("<system-reminder>")]


def tool_results(content):
    """The tool results of a message."""
    if isinstance(content, str):
        return []
    return [block for block in content if block.get("type") == "tool_result"]


def next_turn(body):
    """What the model says to a request: (content blocks, stop reason)."""
    if not body.get("tools"):
        return [{"type": "text", "text": "fine"}], "end_turn"
    wanted, prompt, results = [], "", []
    for message in body.get("messages", []):
        if message["role"] != "user":
            continue
        spoken = [text for text in texts(message["content"]) if text.strip()]
        answered = tool_results(message["content"])
        asked = [pair for text in spoken for pair in directives(text)]
        # A prompt may come in one message with the result of a call that was turned down before it.
        if asked or (spoken and not answered):
            wanted, prompt, results = asked, spoken[-1], []
        else:
            results += answered
    if len(results) < len(wanted):
        name, arguments = wanted[len(results)]
        use = {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:20], "name": name, "input": arguments}
        return [{"type": "text", "text": "calling " + name}, use], "tool_use"
    if not wanted:
        return [{"type": "text", "text": "ok: " + prompt[:60]}], "end_turn"
    last = results[-1].get("content")
    last = last if isinstance(last, str) else json.dumps(last)
    return [{"type": "text", "text": "DONE: " + last[:200]}], "end_turn"


def events(message_id, model, content, stop_reason):
    """A turn as the events of a streamed answer."""
    message = {"id": message_id, "type": "message", "role": "assistant", "model": model,
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE}
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = dict(block, input={})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


class MessagesApi:
    """Serves on a loopback port until `stop`; `requests` holds every body that offered tools."""

    def __init__(self):
        self.requests = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer(200, b"")

            def do_GET(self):
                self.answer(404, b"{}")

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                path = self.path.split("?")[0]
                if path.endswith("/count_tokens"):
                    self.answer(200, b'{"input_tokens": 100}')
                elif path.endswith("/v1/messages"):
                    self.answer_turn(body)
                else:
                    self.answer(404, b"{}")

            def answer_turn(self, body):
                if body.get("tools"):
                    api.requests.append(body)
                content, stop_reason = next_turn(body)
                message_id, model = "msg_" + uuid.uuid4().hex[:20], body.get("model")
                if body.get("stream"):
                    lines = [b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())
                             for event in events(message_id, model, content, stop_reason)]
                    self.answer(200, b"".join(lines), "text/event-stream")
                else:
                    message = {"id": message_id, "type": "message", "role": "assistant", "model": model,
                               "content": content, "stop_reason": stop_reason, "stop_sequence": None,
                               "usage": USAGE}
                    self.answer(200, json.dumps(message).encode())

            def answer(self, status, body, content_type="application/json"):
                self.send_response(status)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
