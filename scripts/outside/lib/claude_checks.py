"""Ten checks of a footbridge against the real Claude Code CLI.

The bridge is started with its own lock file. A copy of it, under the port of a wire tap, is the only
lock file the CLI can find, so discovery, the token and the folders' match are checked as well, and
every frame of both sides is seen. A scripted model (messages_api) decides what the CLI does.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

from messages_api import MessagesApi, tool_results  # noqa: E402
from tap import CLIENT, SERVER, Tap  # noqa: E402
from terminal import Terminal, answer_first_questions, clean_environment  # noqa: E402

# The CLI sends these by itself; each must have been answered by the end.
ALWAYS_ANSWERED = ("initialize", "tools/list", "prompts/list", "closeAllDiffTabs", "close_tab",
                   "getDiagnostics", "openDiff")


def until(condition, seconds=15.0):
    """What the condition returns as soon as it is true, else what it returned last."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


class Failed(Exception):
    """A check did not hold; the text says what was seen."""


def expect(is_true, seen):
    if not is_true:
        raise Failed(seen)


class Session:
    """One bridge, one tap, one CLI, in folders of their own."""

    def __init__(self, footbridge, claude, folder):
        self.folder = folder
        self.home, self.config, self.workspace = (
            os.path.join(folder, name) for name in ("home", "config", "workspace"))
        bridge_config = os.path.join(folder, "bridge-config")
        for made in (self.home, os.path.join(self.config, "ide"), self.workspace, bridge_config):
            os.makedirs(made, mode=0o700)
        self.bridge = self._start_bridge(footbridge, bridge_config)
        self.tap = self.terminal = None
        self.api = MessagesApi()
        self.debug_log = os.path.join(folder, "debug.log")
        self.scripts = 0
        try:
            lock = until(lambda: glob.glob(os.path.join(bridge_config, "ide", "*.lock")))
            expect(lock, "the bridge wrote no lock file in 15 s")
            self.tap = Tap(int(os.path.basename(lock[0]).split(".")[0]))
            shutil.copy(lock[0], os.path.join(self.config, "ide", "%d.lock" % self.tap.port))
            answer_first_questions(self.config, self.workspace)
            environment = clean_environment(self.home, self.config, self.api.url, {})
            arguments = ["--ide", "--debug-file", self.debug_log, "--permission-mode", "default"]
            self.terminal = Terminal(claude, self.workspace, environment, arguments)
        except BaseException:
            self.end()
            raise

    def _start_bridge(self, footbridge, config):
        environment = dict(os.environ, HOME=self.home, CLAUDE_CONFIG_DIR=config,
                           XDG_STATE_HOME=os.path.join(self.folder, "state"),
                           XDG_CONFIG_HOME=os.path.join(self.folder, "settings"))
        with open(os.path.join(self.folder, "bridge.log"), "w", encoding="utf-8") as log:
            return subprocess.Popen(
                [footbridge, "serve", "--workspace", self.workspace, "--log", "debug"],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self):
        """Ends what was started, whatever state it is in."""
        if self.terminal:
            self.terminal.end()
        if self.tap:
            self.tap.stop()
        self.api.stop()
        self.bridge.terminate()
        try:
            self.bridge.wait(5)
        except subprocess.TimeoutExpired:
            self.bridge.kill()
            self.bridge.wait()

    def debug_lines(self, pattern):
        """Lines of the CLI's own log."""
        if not os.path.exists(self.debug_log):
            return []
        with open(self.debug_log, encoding="utf-8", errors="replace") as log:
            return [line.strip() for line in log if re.search(pattern, line)]

    def play(self, *tools):
        """Sends a prompt whose answers are these uses of tools, each (name, input)."""
        self.scripts += 1
        path = os.path.join(self.folder, "script-%d" % self.scripts)
        with open(path, "w", encoding="utf-8") as script:
            script.writelines("%%%%tool %s %s\n" % (name, json.dumps(given)) for name, given in tools)
        self.terminal.enter("%%file " + path)

    def file(self, name):
        return os.path.join(self.workspace, name)

    # ---- The checks, in the order in which they must run -----------------------------------

    def check_connect(self):
        """The CLI finds the bridge by its lock file and accepts its greeting."""
        expect(self.terminal.is_ready(), "no prompt: " + self.terminal.screen()[-400:])
        connected = until(lambda: self.debug_lines(r'MCP server "ide": Successfully connected'))
        expect(connected, self.debug_lines(r'MCP server "ide"')[:3])

    def check_handshake_order(self):
        """initialize, initialized, ide_connected; the subprotocol is named once."""
        wanted = ["initialize", "notifications/initialized", "ide_connected"]
        until(lambda: len(self.tap.methods()) >= 3)
        expect(self.tap.methods()[:3] == wanted, self.tap.methods()[:5])
        answer = [lines for side, lines in self.tap.heads if side == SERVER][0]
        chosen = [line for line in answer if line.lower().startswith("sec-websocket-protocol:")]
        expect(len(chosen) == 1 and chosen[0].split(":")[1].strip() == "mcp", answer)

    def check_status(self):
        """/status names the bridge."""
        self.terminal.enter("/status")
        screen = self.terminal.wait_for(r"IDE:\s+Connected to footbridge", 8)
        self.terminal.press("Escape")
        expect(screen, self.terminal.screen()[-400:])

    def check_prompt(self):
        """A prompt closes old diffs first, and that is answered."""
        time.sleep(0.5)
        self.terminal.enter("hello")
        expect(self.terminal.wait_for("ok: hello"), self.terminal.screen()[-400:])
        calls = until(lambda: [a for _, a in self.tap.requests("closeAllDiffTabs") if a], 3)
        expect(calls and "CLOSED_0_DIFF_TABS" in str(calls[-1].body), calls and calls[-1].body)

    def check_diff_tui_yes(self):
        """A diff is held; accepted in the CLI, the CLI writes the file and the call ends."""
        self._propose("accepted.txt", "Enter", is_accepted=True)

    def check_diff_tui_no(self):
        """The same, rejected: no file."""
        self._propose("rejected.txt", "Escape", is_accepted=False)

    def _propose(self, name, key, is_accepted):
        path = self.file(name)
        diffs, closings = len(self.tap.requests("openDiff")), len(self.tap.requests("close_tab"))
        self.play(("Write", {"file_path": path, "content": "alpha\nbeta\n"}))
        expect(self.terminal.wait_for("Opened changes in footbridge"), self.terminal.screen()[-400:])
        self.terminal.wait_for("Do you want to", 3)
        time.sleep(1.0)
        opened = self.tap.requests("openDiff")[diffs:]
        expect(len(opened) == 1, "openDiff was called %d times" % len(opened))
        expect(opened[0][1] is None, "openDiff was answered before anybody decided")
        expect(not os.path.exists(path), "the file was there before anybody decided")
        self.terminal.press(key)
        closed = until(lambda: [a for _, a in self.tap.requests("close_tab")[closings:] if a])
        expect(closed and "TAB_CLOSED" in str(closed[0].body), "close_tab was not answered")
        ended = until(lambda: self.tap.requests("openDiff")[diffs][1], 3)
        expect(ended and "DIFF_REJECTED" in str(ended.body), "openDiff did not end with its tab")
        until(lambda: os.path.exists(path) == is_accepted, 5)
        expect(os.path.exists(path) == is_accepted, "file there: %s" % os.path.exists(path))
        self.terminal.wait_for(r"DONE:|[Rr]eject|Interrupted", 5)
        time.sleep(1.0)

    def check_auto_edit(self):
        """Around an edit the CLI asks for diagnostics; the answer is an array within 500 ms."""
        path = self.file("edited.txt")
        with open(path, "w", encoding="utf-8") as out:
            out.write("one\ntwo\n")
        self.terminal.press("BTab")
        time.sleep(0.8)
        before = len(self.tap.requests("getDiagnostics"))
        self.play(("Read", {"file_path": path}),
                  ("Edit", {"file_path": path, "old_string": "two", "new_string": "TWO"}))

        def is_edited():
            with open(path, encoding="utf-8") as edited:
                return edited.read() == "one\nTWO\n"
        expect(until(is_edited), "the edit was not made: " + self.terminal.screen()[-400:])
        time.sleep(1.0)
        calls = until(lambda: self.tap.requests("getDiagnostics")[before:], 3)
        expect(calls, "diagnostics were not asked for")
        for call, answer in calls:
            expect(answer, "diagnostics were not answered")
            expect(answer.time - call.time < 0.5, "answered after %.3f s" % (answer.time - call.time))
            blocks = answer.body["result"]["content"]
            expect(isinstance(json.loads(blocks[0]["text"]), list), answer.body)

    def check_diagnostics_tool(self):
        """The model itself may call getDiagnostics."""
        before = len(self.api.requests)
        self.play(("ToolSearch", {"query": "select:mcp__ide__getDiagnostics"}),
                  ("mcp__ide__getDiagnostics", {}))
        if self.terminal.wait_for("Do you want to proceed", 5):
            time.sleep(0.5)  # the dialog is deaf to keys at first
            self.terminal.press("Enter")

        def results():
            return [block for request in self.api.requests[before:]
                    for block in tool_results(request["messages"][-1]["content"])]
        until(lambda: len(results()) >= 2, 10)
        seen = results()
        expect(len(seen) >= 2, "%s, on the screen: %s" % (seen, self.terminal.screen()[-600:]))
        expect(not seen[-1].get("is_error"), seen[-1])

    def check_exit(self):
        """Leaving, the CLI sends a Close frame and gets one back."""
        self.terminal.quit()
        until(lambda: not self.terminal.is_alive(), 5)
        expect(not self.terminal.is_alive(), "the CLI did not leave")
        sides = until(lambda: {side for side, _ in self.tap.closes} == {CLIENT, SERVER}, 3)
        expect(sides, self.tap.closes)

    def check_lint(self):
        """Nothing passed that must not, one connection did for all, nothing was left unanswered."""
        expect(not self.tap.problems, self.tap.problems)
        expect(self.tap.connections == 1, "%d connections" % self.tap.connections)
        left = [name for name in ALWAYS_ANSWERED
                if any(answer is None for _, answer in self.tap.requests(name))]
        expect(not left, "never answered: %s" % left)
        codes = [payload[:2] for side, payload in self.tap.closes if side == SERVER]
        expect(all(code in (b"", b"\x03\xe8") for code in codes), codes)


CHECKS = ["connect", "handshake_order", "status", "prompt", "diff_tui_yes", "diff_tui_no",
          "auto_edit", "diagnostics_tool", "exit", "lint"]


def main(footbridge, claude):
    passed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a stopped run ends what it started
    with tempfile.TemporaryDirectory(prefix="footbridge-cli-") as folder:
        session = Session(footbridge, claude, os.path.realpath(folder))
        try:
            for name in CHECKS:
                try:
                    getattr(session, "check_" + name)()
                    passed += 1
                    print("ok    " + name, flush=True)
                except Failed as failure:
                    print("FAIL  %s: %s" % (name, failure), flush=True)
        finally:
            session.end()
    print("%d passed, %d failed" % (passed, len(CHECKS) - passed))
    return 0 if passed == len(CHECKS) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
