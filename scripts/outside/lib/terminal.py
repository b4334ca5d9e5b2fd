"""A program in a private tmux: the real Claude Code CLI, with a clean environment and a HOME of its
own, or one of ours.

Nothing of the person's own settings is seen or touched, and nothing leaves the loopback address.
"""

import json
import os
import re
import shlex
import subprocess
import time

KEY = "sk-ant-dummy-000000000000000000000000-dummy"
DEAD_PROXY = "http://127.0.0.1:9"


def clean_environment(home, config_folder, api_url, extra):
    """All the CLI gets to see."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": home, "CLAUDE_CONFIG_DIR": config_folder,
        "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/bash",
        "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api_url,
        "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        "HTTPS_PROXY": DEAD_PROXY, "HTTP_PROXY": DEAD_PROXY, "NO_PROXY": "127.0.0.1,localhost,::1",
        **extra,
    }


def answer_first_questions(config_folder, workspace):
    """Onboarding, the key's approval and the folder's trust, as if a person had answered."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True,
               "projectOnboardingSeenCount": 9}
    settings = {
        "hasCompletedOnboarding": True, "lastOnboardingVersion": "9.9.9", "theme": "dark",
        "numStartups": 5, "diffTool": "auto", "autoUpdates": False,
        "hasIdeOnboardingBeenShown": {"unknown": True, "xterm-256color": True, "tmux": True},
        "hasIdeAutoConnectDialogBeenShown": True, "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {os.path.realpath(workspace): trusted},
    }
    with open(os.path.join(config_folder, ".claude.json"), "w", encoding="utf-8") as out:
        json.dump(settings, out)


class Terminal:
    """One program and its screen."""

    started = 0

    def __init__(self, program, workspace, environment, arguments):
        Terminal.started += 1
        self.socket = "footbridge-%d-%d" % (os.getpid(), Terminal.started)
        command = ["env", "-i"] + ["%s=%s" % pair for pair in environment.items()]
        command += [program] + list(arguments)
        self.tmux("new-session", "-d", "-s", "cli", "-x", "120", "-y", "45", "-c", workspace,
                  "exec " + " ".join(map(shlex.quote, command)))
        self.tmux("set-option", "-t", "cli", "remain-on-exit", "on")

    def tmux(self, *arguments):
        """Runs one tmux command; what it prints, empty when it fails."""
        clean = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/",
                 "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, env=clean, capture_output=True, text=True, check=False).stdout

    def is_alive(self):
        return self.tmux("list-panes", "-t", "cli", "-F", "#{pane_dead}").strip() == "0"

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "cli")

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", "-t", "cli", key)
            time.sleep(0.15)

    def enter(self, text):
        """Types a line; the pause keeps Enter from being taken for a part of a paste."""
        self.tmux("send-keys", "-t", "cli", "-l", text)
        time.sleep(0.5)
        self.press("Enter")

    def wait_for(self, pattern, seconds=15.0):
        """The screen as soon as the pattern stands on it, else None."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            time.sleep(0.2)
        return None

    def is_ready(self):
        return self.wait_for(r"(?m)^\s*❯|\? for shortcuts|│ >", 40) is not None

    def quit(self):
        """Leaves as a person does."""
        self.press("Escape", "C-c", "C-c")

    def end(self):
        self.tmux("kill-server")
