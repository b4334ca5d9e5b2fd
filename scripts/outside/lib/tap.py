"""A wire tap between a WebSocket client and a server: passes bytes on and decodes a copy."""

import json
import socket
import threading
import time

from slow_reader import CLOSE, CONTINUATION, Frames, TEXT

CLIENT, SERVER = "client", "server"


class Message:
    """One JSON-RPC message that passed."""

    def __init__(self, connection, side, body):
        self.connection, self.side, self.body = connection, side, body
        self.time = time.monotonic()

    def name(self):
        """The tool of a call, else the method."""
        return (self.body.get("params") or {}).get("name") or self.body.get("method")


class Tap:
    """Listens on `port`, connects each client through to the server, and keeps what it saw."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.messages = []
        self.heads = []     # (side, lines)
        self.closes = []    # (side, payload)
        self.problems = []  # what no peer may send
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.listener.close()

    def requests(self, name):
        """Requests of the client by method or tool, each with its answer or None."""
        asked = [m for m in list(self.messages)
                 if m.side == CLIENT and "id" in m.body and "method" in m.body]
        return [(m, self._answer_to(m)) for m in asked if name in (m.name(), m.body["method"])]

    def methods(self):
        """What the client sent first to last."""
        return [m.body["method"] for m in list(self.messages)
                if m.side == CLIENT and "method" in m.body]

    def _answer_to(self, request):
        for message in list(self.messages):
            if (message.side == SERVER and message.connection == request.connection
                    and "method" not in message.body and message.body.get("id") == request.body["id"]):
                return message
        return None

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                return
            self.connections += 1
            for one, other, side in ((client, server, CLIENT), (server, client, SERVER)):
                pump = Pump(self, self.connections, one, other, side)
                threading.Thread(target=pump.run, daemon=True).start()


class Pump:
    """One direction of one connection."""

    def __init__(self, tap, connection, one, other, side):
        self.tap, self.connection, self.one, self.other, self.side = tap, connection, one, other, side
        self.head, self.frames, self.message = b"", None, b""

    def run(self):
        try:
            while True:
                received = self.one.recv(1 << 16)
                if not received:
                    break
                self._look(received)
                self.other.sendall(received)
        except OSError:
            pass
        try:
            self.other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _look(self, received):
        if self.frames is None:
            self.head += received
            if b"\r\n\r\n" not in self.head:
                return
            head, received = self.head.split(b"\r\n\r\n", 1)
            self.tap.heads.append((self.side, head.decode("latin-1").split("\r\n")))
            self.frames = Frames()
        for fin, opcode, payload in self.frames.feed(received):
            self._frame(fin, opcode, payload)

    def _frame(self, fin, opcode, payload):
        if opcode == CLOSE:
            self.tap.closes.append((self.side, payload))
        if opcode not in (TEXT, CONTINUATION):
            if opcode < CLOSE:
                self.tap.problems.append("opcode %d from the %s" % (opcode, self.side))
            return
        self.message += payload
        if not fin:
            return
        whole, self.message = self.message, b""
        try:
            self.tap.messages.append(Message(self.connection, self.side, json.loads(whole)))
        except ValueError:
            self.tap.problems.append("no JSON from the %s: %r" % (self.side, whole[:80]))
