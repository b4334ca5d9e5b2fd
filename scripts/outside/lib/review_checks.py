"""Diffs of the real Claude Code CLI, answered in `footbridge review`.

Two terminals in tmux: the CLI, and a shell in which review runs. A scripted model (messages_api)
proposes changes. What counts is what ends up on the disk, what the model is told, and what the
person sees on both screens.
"""

import glob
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from claude_checks import Failed, expect, until
from messages_api import MessagesApi, tool_results
from terminal import Terminal, answer_first_questions, clean_environment

# An editor that changes what it finds; it leaves a word of what it was given.
EDITOR = """#!/bin/sh
cat "$1" > "$(dirname "$0")/given"
sed -i "s/alpha/edited/" "$1"
"""


class Session:
    """One bridge, one CLI, one shell, in folders of their own."""

    def __init__(self, footbridge, claude, folder):
        self.footbridge, self.folder, self.scripts = footbridge, folder, 0
        self.cli = self.shell = None
        self.home, self.config, self.workspace = (
            os.path.join(folder, name) for name in ("home", "config", "workspace"))
        for made in (self.home, self.config, self.workspace, os.path.join(folder, "tmp")):
            os.makedirs(made, mode=0o700)
        self.editor = os.path.join(folder, "editor")
        with open(self.editor, "w", encoding="utf-8") as out:
            out.write(EDITOR)
        os.chmod(self.editor, 0o700)
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home,
            "CLAUDE_CONFIG_DIR": self.config, "TERM": "xterm-256color", "LANG": "C.UTF-8",
            "XDG_STATE_HOME": os.path.join(folder, "state"), "PS1": "$ ",
            "EDITOR": self.editor, "TMPDIR": os.path.join(folder, "tmp"),
        }
        self.api = MessagesApi()
        with open(os.path.join(folder, "bridge.log"), "w", encoding="utf-8") as log:
            self.bridge = subprocess.Popen([footbridge, "serve"], env=self.environment,
                                           cwd=self.workspace, stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)
        try:
            locks = os.path.join(self.config, "ide", "*.lock")
            expect(until(lambda: glob.glob(locks)), "the bridge wrote no lock file in 15 s")
            answer_first_questions(self.config, self.workspace)
            environment = clean_environment(self.home, self.config, self.api.url, {})
            self.cli = Terminal(claude, self.workspace, environment,
                                ["--ide", "--permission-mode", "default"])
            self.shell = Terminal("bash", self.workspace, self.environment, ["--norc", "--noprofile"])
            expect(self.cli.is_ready(), "no prompt: " + self.cli.screen()[-400:])
            expect(until(self.is_attached), "the CLI did not attach")
            time.sleep(1.0)
        except BaseException:
            self.end()
            raise

    def is_attached(self):
        status = self.run("status", "--json").stdout
        return '"name": "claude-code"' in status

    def run(self, *arguments):
        """A footbridge that ends by itself."""
        return subprocess.run([self.footbridge, *arguments], env=self.environment, cwd=self.workspace,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def end(self):
        """Ends what was started, whatever state it is in."""
        for terminal in (self.cli, self.shell):
            if terminal:
                terminal.end()
        self.api.stop()
        self.bridge.terminate()
        self.bridge.wait()

    def file(self, name, contents=None):
        """The path of a file in the workspace, written first if contents are given."""
        path = os.path.join(self.workspace, name)
        if contents is not None:
            with open(path, "wb") as out:
                out.write(contents)
        return path

    def contents(self, name):
        """Bytes of a file, or None."""
        if not os.path.exists(self.file(name)):
            return None
        with open(self.file(name), "rb") as found:
            return found.read()

    def keep_screen(self, name):
        """Leaves both screens where SCREENS says."""
        folder = os.environ.get("SCREENS")
        if folder:
            for terminal, label in ((self.shell, "review"), (self.cli, "cli")):
                path = os.path.join(folder, "%s-%s.txt" % (name, label))
                with open(path, "w", encoding="utf-8") as out:
                    out.write(terminal.tmux("capture-pane", "-p", "-e", "-t", "cli"))

    def propose(self, name, *tools):
        """Lets the model use tools, and waits until review shows the file."""
        self.scripts += 1
        path = os.path.join(self.folder, "script-%d" % self.scripts)
        with open(path, "w", encoding="utf-8") as script:
            script.writelines("%%%%tool %s %s\n" % (tool, json.dumps(given)) for tool, given in tools)
        self.before = len(self.api.requests)
        self.cli.enter("%%file " + path)
        shown = self.shell.wait_for(r"(?m)^1/\d+  " + name)
        expect(shown, "review: %s, CLI: %s" % (self.shell.screen(), self.cli.screen()[-600:]))
        self.keep_screen(name)
        return shown

    def propose_new(self, name):
        return self.propose(name, ("Write", {"file_path": self.file(name), "content": "alpha\nbeta\n"}))

    def told(self):
        """What the model was told about its last call."""
        found = [block for request in self.api.requests[self.before:]
                 for block in tool_results(request["messages"][-1]["content"])]
        return str(found[-1]) if found else ""

    def wait_for_turn(self):
        """Until the CLI takes prompts again."""
        self.cli.wait_for(r"DONE:|[Rr]eject|Interrupted", 8)
        time.sleep(1.0)

    # ---- The checks, in the order in which they must run -----------------------------------

    def check_waits(self):
        """With no diff, review says so and waits."""
        self.shell.enter(shlex.quote(self.footbridge) + " review")
        expect(self.shell.wait_for("No diff waits"), self.shell.screen())
        self.keep_screen("waits")

    def check_accept(self):
        """y: the CLI writes what it proposed."""
        self.propose_new("accepted.txt")
        expect(self.contents("accepted.txt") is None, "the file was there before the answer")
        self.shell.press("y")
        written = until(lambda: self.contents("accepted.txt"), 8)
        expect(written == b"alpha\nbeta\n", written)
        expect(self.shell.wait_for("accepted accepted.txt"), self.shell.screen())
        until(self.told, 8)
        expect("modified" not in self.told(), self.told())
        self.wait_for_turn()

    def check_edit(self):
        """e: the CLI writes what the editor saved, and tells the model so."""
        self.propose_new("edited.txt")
        self.shell.press("e")
        written = until(lambda: self.contents("edited.txt"), 8)
        expect(written == b"edited\nbeta\n", written)
        with open(os.path.join(self.folder, "given"), encoding="utf-8") as given:
            expect(given.read() == "alpha\nbeta\n", "the editor was given something else")
        expect(self.shell.wait_for("with your changes"), self.shell.screen())
        until(self.told, 8)
        expect("user modified" in self.told().lower(), self.told())
        expect(not os.listdir(os.path.join(self.folder, "tmp")), "a copy was left behind")
        self.wait_for_turn()

    def check_reject(self):
        """n: no file, and the CLI takes it as a rejection."""
        self.propose_new("rejected.txt")
        self.shell.press("n")
        expect(self.shell.wait_for("rejected rejected.txt"), self.shell.screen())
        expect(self.cli.wait_for(r"[Rr]eject|Interrupted", 8), self.cli.screen()[-400:])
        time.sleep(1.0)
        expect(self.contents("rejected.txt") is None, "the file was written")

    def check_withdrawn(self):
        """Answered in the CLI, the diff vanishes from review, which says who answered."""
        self.propose_new("withdrawn.txt")
        time.sleep(1.0)
        self.cli.press("Enter")
        shown = self.shell.wait_for("withdrawn.txt is gone, ended by Claude Code", 8)
        expect(shown and "alpha" not in shown, self.shell.screen())
        self.keep_screen("gone")
        expect(until(lambda: self.contents("withdrawn.txt"), 8) == b"alpha\nbeta\n", "not written")
        self.shell.press("Space")
        expect(self.shell.wait_for("No diff waits"), self.shell.screen())
        self.wait_for_turn()

    def check_crlf(self):
        """A file with CRLF, a mark and no last line end: one line changes, all that stays."""
        self.file("crlf.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree")
        path = self.file("crlf.txt")
        shown = self.propose("crlf.txt", ("Read", {"file_path": path}), ("Edit", {
            "file_path": path, "old_string": "two", "new_string": "TWO"}))
        expect("+1 -1" in shown and "CRLF" in shown and "\\ No newline" in shown, shown)
        self.shell.press("y")
        written = b"\xef\xbb\xbfone\r\nTWO\r\nthree"
        until(lambda: self.contents("crlf.txt") == written, 8)
        expect(self.contents("crlf.txt") == written, self.contents("crlf.txt"))
        self.wait_for_turn()

    def check_wide(self):
        """Wide characters, tabs, long lines and control characters stay in their rows."""
        long = "0123456789" * 30
        content = "日本語\tx\n\tt\u0301ab\n%s\n\u001b[2J\u001b[31mred\r\n" % long
        content += "".join("line %d\n" % number for number in range(80))
        self.propose("wide.txt", ("Write", {"file_path": self.file("wide.txt"), "content": content}))
        shown = self.shell.screen()
        for row in ("+日本語  x", "+        t\u0301ab", ">", "+\\u{1b}[2J\\u{1b}[31mred"):
            expect(row in shown, shown)
        expect(len(shown.splitlines()) <= 45, shown)
        self.shell.press("G")
        expect(self.shell.wait_for(r"\+line 79"), self.shell.screen())
        self.keep_screen("end")
        self.shell.tmux("resize-window", "-t", "cli", "-x", "60", "-y", "20")
        expect(self.shell.wait_for(r"(?m)^\+line \d+$[^+]*^y accept"), self.shell.screen())
        self.shell.press("G")
        expect(self.shell.wait_for(r"\+line 79"), self.shell.screen())
        self.keep_screen("narrow")
        self.shell.press("s")
        expect(self.shell.wait_for("1 diff waits, and was skipped"), self.shell.screen())

    def check_leave(self):
        """q: the diff still waits, and the shell's terminal is as it was."""
        self.shell.press("q")
        expect(self.shell.wait_for("1 diff still to answer: footbridge review"), self.shell.screen())
        self.shell.enter("echo typed && stty -a | grep -o ' echo '")
        expect(self.shell.wait_for("(?m)^typed\n echo"), self.shell.screen())
        expect("wide.txt" in self.run("review", "--list").stdout, "the diff went with review")
        expect(self.run("review", "--reject", "wide.txt").returncode == 0, "it was not rejected")
        self.cli.wait_for(r"[Rr]eject|Interrupted", 8)
        expect(self.contents("wide.txt") is None, "the file was written")


CHECKS = ["waits", "accept", "edit", "reject", "withdrawn", "crlf", "wide", "leave"]


def main(footbridge, claude):
    passed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a stopped run ends what it started
    with tempfile.TemporaryDirectory(prefix="footbridge-review-") as folder:
        session = Session(os.path.abspath(footbridge), claude, os.path.realpath(folder))
        try:
            for name in CHECKS:
                try:
                    getattr(session, "check_" + name)()
                    passed += 1
                    print("ok    " + name, flush=True)
                except Failed as failure:
                    session.keep_screen("failed-" + name)
                    print("FAIL  %s: %s" % (name, failure), flush=True)
        finally:
            session.end()
    print("%d passed, %d failed" % (passed, len(CHECKS) - passed))
    return 0 if passed == len(CHECKS) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
