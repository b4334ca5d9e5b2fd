#!/usr/bin/env python3
"""Reproduces stalls and keep-alive faults: a WebSocket client that misbehaves on purpose.

It finds a running bridge as Claude Code does, through the newest lock file in
$CLAUDE_CONFIG_DIR/ide or ~/.claude/ide (or --lock FILE, or --port and --token), attaches as
Claude Code does, misbehaves, and prints a timeline: seconds since the start, then what happened.

scenarios:
{scenarios}
  many N SCENARIO     N copies of a scenario at once; each must end as expected

examples:
  slow_reader.py no-pong --ping-interval 1 --expect dropped --within 2.5-5
  slow_reader.py slow 2000 --ping-interval 1 --for 10 --expect kept
  slow_reader.py many 50 reads-nothing --ping-interval 1 --expect dropped

exit codes:
  0  the bridge did as expected, or nothing was expected
  1  it did not; the last line says why
  2  the command line makes no sense, or there is no bridge to speak to
  3  the self-test failed
"""

import argparse
import base64
import glob
import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time

ACCEPT_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA

# A small receive buffer leaves the backlog with the bridge instead of with our own kernel. Much less
# than this and Linux drops segments, acknowledgements among them, of a peer that sends small frames.
RECEIVE_BUFFER_BYTES = 64 << 10
SEND_BUFFER_BYTES = 64 << 10

# What `pongs-only` leaves unread: more than the kernel takes in between (about 4 MB), less than
# what makes the bridge stop reading from us (4 MiB on top of that).
BOUNDED_BACKLOG_BYTES = 6 << 20

# Longest wait for the bridge to answer the upgrade and `initialize`.
ANSWER_SECONDS = 10.0

# A flood counts as blocked once nothing more could be sent for so long.
BLOCKED_SECONDS = 0.3

# How often a client that does not read looks whether the connection is still there.
LOOK_SECONDS = 0.02

EXIT_OK, EXIT_UNEXPECTED, EXIT_USAGE, EXIT_SELF_TEST = 0, 1, 2, 3


class Unusable(Exception):
    """The bridge cannot be reached, or does not let us in; the text is one line for a person."""


# ---- RFC 6455, client side ------------------------------------------------------------------


def mask(payload, key):
    """Applies a four-byte masking key; the same call takes it off again."""
    if not payload:
        return b""
    repeated = (key * (len(payload) // 4 + 1))[: len(payload)]
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return mixed.to_bytes(len(payload), "big")


def frame(opcode, payload=b"", fin=True, masked=True):
    """One frame as bytes on the wire."""
    head = bytes([(0x80 if fin else 0) | opcode])
    bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 1 << 16:
        head += bytes([bit | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(payload))
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + mask(payload, key)


class Frames:
    """Bytes in, frames out, however the bytes were split. Masked frames are unmasked."""

    def __init__(self):
        self.rest = bytearray()

    def feed(self, received):
        """Yields (fin, opcode, payload) for each frame that is whole."""
        self.rest += received
        while True:
            found = self._first()
            if found is None:
                return
            yield found

    def _first(self):
        rest = self.rest
        if len(rest) < 2:
            return None
        length, at = rest[1] & 0x7F, 2
        if length == 126:
            length, at = int.from_bytes(rest[2:4], "big"), 4
        elif length == 127:
            length, at = int.from_bytes(rest[2:10], "big"), 10
        is_masked = bool(rest[1] & 0x80)
        end = at + (4 if is_masked else 0) + length
        if len(rest) < at or len(rest) < end:
            return None
        payload = bytes(rest[end - length : end])
        if is_masked:
            payload = mask(payload, bytes(rest[at : at + 4]))
        found = (bool(rest[0] & 0x80), rest[0] & 0x0F, payload)
        del rest[:end]
        return found


def accept_of(key):
    """What a server must answer to a Sec-WebSocket-Key."""
    return base64.b64encode(hashlib.sha1(key + ACCEPT_GUID).digest())


def upgrade_request(port, key, token):
    """The upgrade as Claude Code sends it."""
    lines = [
        "GET / HTTP/1.1",
        "Host: 127.0.0.1:%d" % port,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: " + key.decode(),
        "Sec-WebSocket-Protocol: mcp",
    ]
    if token:
        lines.append("X-Claude-Code-Ide-Authorization: " + token)
    return "\r\n".join(lines + ["", ""]).encode()


def close_text(payload):
    """A Close frame's payload for a person: `1011 "Keepalive timeout"`."""
    if len(payload) < 2:
        return "without a code"
    code = struct.unpack(">H", payload[:2])[0]
    return '%d "%s"' % (code, payload[2:].decode("utf-8", "replace"))


# ---- The client -----------------------------------------------------------------------------


class Client:
    """One attached client. Never blocks for long; what it reads and writes is up to the scenario."""

    def __init__(self, address, say):
        self.say = say
        self.frames = Frames()
        self.unsent = bytearray()
        self.is_attached = False
        self.is_gone = False
        self.close_frame = None
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self.socket.settimeout(ANSWER_SECONDS)
        try:
            self.socket.connect(address)
        except OSError as error:
            raise Unusable("no bridge answers on %s:%d (%s)" % (*address, error)) from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def attach(self, address, token):
        """Upgrade, `initialize`, `notifications/initialized`, `ide_connected`."""
        key = base64.b64encode(os.urandom(16))
        self.socket.sendall(upgrade_request(address[1], key, token))
        head = self._read_head()
        status, fields = head[0], [line.lower().replace(b" ", b"") for line in head[1:]]
        if b" 101 " not in status:
            raise Unusable("the bridge refused the upgrade: " + status.decode("latin-1"))
        if b"sec-websocket-accept:" + accept_of(key).lower() not in fields:
            raise Unusable("the bridge answered the upgrade with a wrong Sec-WebSocket-Accept")
        if b"sec-websocket-protocol:mcp" not in fields:
            raise Unusable("the bridge did not choose the subprotocol mcp")
        about = {"name": "slow_reader", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
        self.ask({"id": 0, "method": "initialize", "params": params})
        self.socket.sendall(text({"method": "notifications/initialized"}))
        self.socket.sendall(text({"method": "ide_connected", "params": {"pid": os.getpid()}}))
        self.is_attached = True

    def ask(self, request):
        """Sends a request and returns the length of its answer's text."""
        self.socket.sendall(text(request))
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            for _, opcode, payload in self.frames.feed(self._read_some()):
                if opcode == PING:
                    self.socket.sendall(frame(PONG, payload))
                elif opcode == CLOSE:
                    raise Unusable("the bridge closed: " + close_text(payload))
                elif opcode == TEXT and json.loads(payload).get("id") == request["id"]:
                    return len(payload)
        raise Unusable("no answer to %s in %d s" % (request["method"], ANSWER_SECONDS))

    def _read_head(self):
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._read_some()
        head, rest = received.split(b"\r\n\r\n", 1)
        self.frames.rest += rest
        return head.split(b"\r\n")

    def _read_some(self):
        try:
            received = self.socket.recv(1 << 16)
        except OSError as error:
            raise Unusable("the bridge did not answer (%s)" % error) from error
        if not received:
            raise Unusable("the bridge hung up instead of answering")
        return received

    def wait(self, seconds, wants_read):
        """Sleeps until there is something to do; sees a reset even when it does not read."""
        poll = select.poll()
        hung_up = getattr(select, "POLLRDHUP", 0)  # Linux tells of a FIN behind unread bytes
        wanted = (select.POLLIN if wants_read else hung_up) | (select.POLLOUT if self.unsent else 0)
        poll.register(self.socket, wanted)
        for _, happened in poll.poll(max(0.0, seconds) * 1000):
            if happened & (select.POLLERR | select.POLLHUP | hung_up) and not wants_read:
                self.leave("the connection is gone")

    def send(self, wire):
        """Queues bytes and sends what the kernel takes; returns how many it took."""
        self.unsent += wire
        return self.flush()

    def flush(self):
        """Sends what the kernel takes of what is queued."""
        if self.is_gone or not self.unsent:
            return 0
        try:
            taken = self.socket.send(self.unsent)
        except (BlockingIOError, socket.timeout):
            return 0
        except OSError as error:
            self.leave("the connection is gone (%s)" % error.strerror)
            return 0
        del self.unsent[:taken]
        return taken

    def read(self, most):
        """Reads at most so many bytes; returns (bytes read, frames that became whole)."""
        try:
            received = self.socket.recv(most)
        except (BlockingIOError, socket.timeout):
            return 0, []
        except OSError as error:
            self.leave("the connection is gone (%s)" % error.strerror)
            return 0, []
        if not received:
            self.leave("end of stream")
        if not self.is_attached:
            if received:
                self.say("received " + received.decode("latin-1").splitlines()[0])
            return len(received), []
        whole = list(self.frames.feed(received))
        for _, opcode, payload in whole:
            if opcode == CLOSE and self.close_frame is None:
                self.close_frame = payload
                self.say("received Close %s" % close_text(payload))
        return len(received), whole

    def leave(self, why):
        """The connection ended; looks once through what had come before for a Close frame."""
        if self.is_gone:
            return
        self.is_gone = True
        self.say(why)
        self.socket.setblocking(False)
        while self.is_attached and self.close_frame is None:
            try:
                received = self.socket.recv(1 << 20)
            except OSError:
                return
            if not received:
                return
            for _, opcode, payload in self.frames.feed(received):
                if opcode == CLOSE:
                    self.close_frame = payload
                    self.say("a Close %s had come before" % close_text(payload))


def text(message):
    """A JSON-RPC message as one text frame."""
    whole = dict(message, jsonrpc="2.0")
    return frame(TEXT, json.dumps(whole, separators=(",", ":")).encode())


# ---- Scenarios ------------------------------------------------------------------------------


class Manners:
    """How a client behaves once it is attached; each scenario is one choice of these."""

    def __init__(self, about, reads=True, answers_pings=False, sends_pongs=False, floods=False,
                 backlog_bytes=None, rate=None, wire=b"", is_attached=True):
        self.about = about
        self.reads = reads                  # takes bytes off the socket
        self.answers_pings = answers_pings  # a pong for every ping it reads
        self.sends_pongs = sends_pongs      # a pong every interval, unasked
        self.floods = floods                # asks for tools/list as fast as it can send
        self.backlog_bytes = backlog_bytes  # ... until so many bytes of answers were asked for
        self.rate = rate                    # bytes a second it reads; None is all there are
        self.wire = wire                    # bytes sent once, at the start
        self.is_attached = is_attached      # after upgrade and handshake, or straight after connect


HALF_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgra"
HALF_FRAME = frame(TEXT, b" " * 1000)[:500]

SCENARIOS = {
    "reads-nothing": Manners(
        "asks without end, never reads, never pongs: dropped as not reading", reads=False, floods=True),
    "pongs-only": Manners(
        "sends pongs but leaves its answers unread: dropped as not reading",
        reads=False, floods=True, backlog_bytes=BOUNDED_BACKLOG_BYTES, sends_pongs=True),
    "slow": Manners(
        "reads RATE KB/s (slow RATE) behind a backlog, answers pings: kept",
        answers_pings=True, floods=True),
    "no-pong": Manners("reads everything, sends nothing, answers no ping: dropped"),
    "half-frame": Manners("sends half a frame and stops, answers nothing: dropped", wire=HALF_FRAME),
    "idle-ok": Manners("reads everything and answers every ping: kept", answers_pings=True),
    "half-head": Manners(
        "sends half a request head and stops: gone after 10 s", wire=HALF_HEAD, is_attached=False),
}


class Outcome:
    """How a client ended. `seconds` counts from the moment it began to misbehave."""

    def __init__(self, is_dropped, seconds, close_frame):
        self.is_dropped = is_dropped
        self.seconds = seconds
        self.close_frame = close_frame

    def __str__(self):
        if not self.is_dropped:
            return "kept for %.1f s" % self.seconds
        farewell = "without a Close frame"
        if self.close_frame is not None:
            farewell = "with Close " + close_text(self.close_frame)
        return "dropped after %.1f s, %s" % (self.seconds, farewell)


class Run:
    """One client living through one scenario."""

    def __init__(self, manners, bridge, options, say):
        self.manners, self.options, self.say = manners, options, say
        self.client = Client(bridge.address, say)
        self.answer_bytes = 0
        if manners.is_attached:
            self.client.attach(bridge.address, bridge.token)
            say("attached")
            if manners.floods:
                self.answer_bytes = self.client.ask({"id": 1, "method": "tools/list"})
        self.requests = 0
        self.read_total = 0
        self.misbehaves_since = time.monotonic()
        self.last_sent = self.misbehaves_since
        self.next_pong = self.misbehaves_since
        self.is_blocked = False

    def live(self):
        """Misbehaves until the connection or the time is over."""
        start = time.monotonic()
        self.client.socket.setblocking(False)
        self.client.send(self.manners.wire)
        while not self.client.is_gone and self.client.close_frame is None:
            now = time.monotonic()
            if now - start >= self.options.seconds:
                break
            self._write(now)
            self._read(now - start)
            pause = 0.0 if self._wants_to_ask() and not self.client.unsent else LOOK_SECONDS
            self.client.wait(pause, self._may_read(time.monotonic() - start) > 0)
        is_dropped = self.client.is_gone or self.client.close_frame is not None
        seconds = time.monotonic() - self.misbehaves_since
        self.client.socket.close()
        return Outcome(is_dropped, seconds, self.client.close_frame)

    def _write(self, now):
        if self._flood() or self.client.flush():
            self.last_sent = now
        elif self.manners.floods and not self.is_blocked and now - self.last_sent > BLOCKED_SECONDS:
            self.is_blocked = True
            if not self.manners.reads:
                self.misbehaves_since = self.last_sent
            self.say("asked %d times, %s" % (
                self.requests, "and the bridge takes no more" if self._wants_to_ask() else "enough"))
        if self.manners.sends_pongs and now >= self.next_pong:
            self.next_pong = now + self.options.ping_interval
            self.client.send(frame(PONG))
            self.say("sent a pong unasked")

    def _wants_to_ask(self):
        limit = self.manners.backlog_bytes
        return self.manners.floods and (limit is None or self.requests * self.answer_bytes < limit)

    def _flood(self):
        """Asks while the kernel takes it; returns how many bytes were sent."""
        sent, turns = 0, 0
        while turns < 100 and self._wants_to_ask() and not self.client.unsent:
            turns += 1
            self.requests += 1
            sent += self.client.send(text({"id": self.requests + 1, "method": "tools/list"}))
        return sent

    def _may_read(self, elapsed):
        """How many bytes it may read by now."""
        if not self.manners.reads:
            return 0
        if self.manners.rate is None:
            return 1 << 16
        return min(1 << 16, int(self.manners.rate * elapsed) - self.read_total)

    def _read(self, elapsed):
        most = self._may_read(elapsed)
        if most <= 0:
            return
        taken, frames = self.client.read(most)
        self.read_total += taken
        for _, opcode, payload in frames:
            if opcode != PING:
                continue
            if self.manners.answers_pings:
                self.client.send(frame(PONG, payload))
            self.say("received a ping" + (", answered" if self.manners.answers_pings else ""))


# ---- Finding the bridge ---------------------------------------------------------------------


class Bridge:
    """Where the bridge listens, and the token that lets us in."""

    def __init__(self, port, token):
        self.address = ("127.0.0.1", port)
        self.token = token

    @staticmethod
    def find(options):
        """By --port and --token, by --lock, or by the newest lock file."""
        if options.port is not None:
            return Bridge(options.port, options.token)
        path = options.lock or newest_lock()
        try:
            with open(path, encoding="utf-8") as lock:
                token = json.load(lock).get("authToken", "")
            return Bridge(int(os.path.basename(path).split(".")[0]), token)
        except (OSError, ValueError) as error:
            raise Unusable("%s is no lock file (%s)" % (path, error)) from error


def newest_lock():
    """The newest lock file where Claude Code looks for one."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    locks = glob.glob(os.path.join(folder, "ide", "*.lock"))
    if not locks:
        raise Unusable("no lock file in %s: start footbridge, or name --port and --token"
                       % os.path.join(folder, "ide"))
    return max(locks, key=os.path.getmtime)


# ---- Command line ---------------------------------------------------------------------------


def seconds_range(words):
    """`2-4` is (2.0, 4.0)."""
    first, _, last = words.partition("-")
    return float(first), float(last)


def parse_arguments(arguments):
    """The scenario's words become `copies` and `manners`."""
    rows = "\n".join("  %-19s %s" % (name, manners.about) for name, manners in SCENARIOS.items())
    parser = argparse.ArgumentParser(
        description=__doc__.format(scenarios=rows), formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s SCENARIO [options]")
    parser.add_argument("scenario", nargs="*", help="see above")
    parser.add_argument("--lock", metavar="FILE", help="the bridge's lock file")
    parser.add_argument("--port", type=int, help="the bridge's port, instead of a lock file")
    parser.add_argument("--token", default="", help="the token that goes with --port")
    parser.add_argument("--ping-interval", type=float, default=30.0, metavar="SECONDS",
                        help="what the bridge was started with [30]")
    parser.add_argument("--for", dest="seconds", type=float, metavar="SECONDS",
                        help="how long to go on [5 ping intervals, 15 s at least]")
    parser.add_argument("--expect", choices=["kept", "dropped"], help="fail unless it ends so")
    parser.add_argument("--within", type=seconds_range, metavar="A-B",
                        help="with --expect dropped: seconds since the misbehaviour began")
    parser.add_argument("--expect-close", metavar="CODE", type=int, help="the Close code must be this")
    parser.add_argument("--quiet", action="store_true", help="print the last line only")
    parser.add_argument("--self-test", action="store_true", help="test this script, no bridge needed")
    options = parser.parse_args(arguments)
    if not options.self_test:
        read_scenario(parser, options)
    return options


def read_scenario(parser, options):
    """`many N NAME [RATE]`."""
    words = list(options.scenario)
    options.copies = 1
    try:
        if words[0] == "many":
            options.copies = int(words[1])
            words = words[2:]
        name = words.pop(0)
        options.manners = SCENARIOS[name]
        if name == "slow":
            options.manners.rate = float(words.pop(0)) * 1000
    except (IndexError, KeyError, ValueError):
        parser.error("scenario is [many N] and one of: %s" % ", ".join(SCENARIOS))
    if words:
        parser.error("unexpected: %s" % " ".join(words))
    if options.seconds is None:
        options.seconds = max(15.0, 5 * options.ping_interval)


def objection(outcome, options):
    """What is wrong with an outcome; None when it is as expected."""
    if options.expect == "kept" and outcome.is_dropped:
        return "expected to be kept"
    if options.expect == "dropped" and not outcome.is_dropped:
        return "expected to be dropped"
    if options.within and outcome.is_dropped:
        first, last = options.within
        if not first <= outcome.seconds <= last:
            return "expected within %g-%g s" % (first, last)
    if options.expect_close is not None:
        code = (outcome.close_frame or b"\0\0")[:2]
        if struct.unpack(">H", code)[0] != options.expect_close:
            return "expected Close %d" % options.expect_close
    return None


def run_copies(options):
    """Runs every copy at once; returns the exit code."""
    bridge = Bridge.find(options)
    start = time.monotonic()
    lines = threading.Lock()
    endings = []

    def run_one(number):
        name = "" if options.copies == 1 else "#%d " % number

        def say(event, is_last=False):
            if is_last or not options.quiet:
                with lines:
                    print("%7.3f  %s%s" % (time.monotonic() - start, name, event), flush=True)

        try:
            outcome = Run(options.manners, bridge, options, say).live()
        except Unusable as error:
            say(str(error), is_last=True)
            endings.append(EXIT_USAGE)
            return
        problem = objection(outcome, options)
        say("%s%s" % (outcome, "" if problem is None else "; " + problem), is_last=True)
        endings.append(EXIT_OK if problem is None else EXIT_UNEXPECTED)

    copies = [threading.Thread(target=run_one, args=(n + 1,)) for n in range(options.copies)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    return max(endings, default=EXIT_USAGE) if len(endings) == options.copies else EXIT_UNEXPECTED


# ---- Self-test ------------------------------------------------------------------------------


class EchoBridge(threading.Thread):
    """Enough of a bridge to test the client against: takes one client, echoes `tools/list`."""

    def __init__(self, ending):
        super().__init__(daemon=True)
        self.ending = ending  # bytes sent when the first ping was answered, or after a second
        self.pongs = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        peer, _ = self.listener.accept()
        peer.settimeout(1.0)
        received = b""
        while b"\r\n\r\n" not in received:
            received += peer.recv(1 << 16)
        key = received.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0]
        peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Protocol: mcp\r\n"
                     b"Sec-WebSocket-Accept: " + accept_of(key) + b"\r\n\r\n")
        frames = Frames()
        try:
            while not self.pongs:
                for _, opcode, payload in frames.feed(peer.recv(1 << 16)):
                    self._answer(peer, opcode, payload)
        except OSError:
            pass
        peer.sendall(self.ending)
        peer.close()

    def _answer(self, peer, opcode, payload):
        if opcode == PONG:
            self.pongs.append(payload)
        message = json.loads(payload) if opcode == TEXT else {}
        if "id" in message:
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode()
            for byte in frame(TEXT, body, masked=False):  # one byte a segment
                peer.sendall(bytes([byte]))
        if message.get("method") == "ide_connected":
            peer.sendall(frame(PING, b"still there?", masked=False))


def self_test():
    """Tests the codec by itself and the client against `EchoBridge`; returns the exit code."""
    failures = []

    def check(what, is_true):
        print("%-4s %s" % ("ok" if is_true else "FAIL", what))
        if not is_true:
            failures.append(what)

    for length in (0, 1, 125, 126, 65535, 65536, 100000):
        payload = bytes(range(256)) * (length // 256) + bytes(length % 256)
        wire = frame(TEXT, payload) + frame(PONG, b"x", masked=False)
        whole = list(Frames().feed(wire))
        split = Frames()
        single = [one for at in range(len(wire)) for one in split.feed(wire[at : at + 1])] \
            if length < 70000 else whole
        expected = [(True, TEXT, payload), (True, PONG, b"x")]
        check("a frame of %d bytes, whole and byte by byte" % length, whole == single == expected)
    check("the RFC's accept key",
          accept_of(b"dGhlIHNhbXBsZSBub25jZQ==") == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    check("a Close for people", close_text(b"\x03\xf3Not reading") == '1011 "Not reading"')
    check("a range of seconds", seconds_range("1.5-4") == (1.5, 4.0))
    for words, ending, expected in [
        ("idle-ok", frame(CLOSE, b"\x03\xe9bye", masked=False), 'Close 1001 "bye"'),
        ("no-pong", b"", "without a Close frame"),
        ("reads-nothing", frame(CLOSE, b"\x03\xf3", masked=False), "dropped"),
    ]:
        bridge = EchoBridge(ending)
        bridge.start()
        options = parse_arguments(words.split() + ["--port", str(bridge.port), "--for", "5"])
        run = Run(options.manners, Bridge(bridge.port, ""), options, lambda event: None)
        outcome = run.live()
        check("%s: %s" % (words, outcome), outcome.is_dropped and expected in str(outcome))
        bridge.join(5)
        if words == "idle-ok":
            check("the ping was answered", bridge.pongs == [b"still there?"])
        if words == "no-pong":
            check("the ping was not answered", not bridge.pongs)
    kept, dropped = Outcome(False, 5.0, None), Outcome(True, 3.0, b"\x03\xf3")
    for arguments, outcome, is_fine in [
        (["--expect", "kept"], kept, True),
        (["--expect", "kept"], dropped, False),
        (["--expect", "dropped"], kept, False),
        (["--expect", "dropped", "--within", "2-4"], dropped, True),
        (["--expect", "dropped", "--within", "4-5"], dropped, False),
        (["--expect-close", "1011"], dropped, True),
        (["--expect-close", "1001"], dropped, False),
    ]:
        options = parse_arguments(["idle-ok"] + arguments)
        check("%s against %s" % (" ".join(arguments), outcome),
              (objection(outcome, options) is None) == is_fine)
    print("%d failed" % len(failures))
    return EXIT_SELF_TEST if failures else EXIT_OK


def main():
    options = parse_arguments(sys.argv[1:])
    if options.self_test:
        return self_test()
    try:
        return run_copies(options)
    except Unusable as error:
        print("slow_reader: %s" % error, file=sys.stderr)
        return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
