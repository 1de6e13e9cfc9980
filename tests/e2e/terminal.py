# SPDX-License-Identifier: MIT
"""On a terminal: job control, full-screen programs, Ctrl-C and Ctrl-Z."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from harness import BOTTLENECK, TIMEOUT, Case, main, need, target


class Terminal:
    """An interactive shell, bash if nothing else is said, on a terminal of its own."""

    def __init__(self, case, shell=("bash", "--norc", "--noprofile", "-i")):
        self.text = ""
        self.all = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # So wide that a command stays in one line, wherever we are built.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 1000, 0, 0))
            os.chdir(case.work)
            env = case.environment(PS1="prompt> ", TERM="xterm", HISTFILE="/dev/null",
                                   PROMPT_COMMAND="", BASH_SILENCE_DEPRECATION_WARNING="1",
                                   INPUTRC="/dev/null")
            os.execvpe(shell[0], list(shell), env)
        case.addCleanup(self.close)
        self.expect("prompt> ")

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, timeout=TIMEOUT):
        """Reads until PATTERN has come; returns what came before it."""
        end = time.monotonic() + timeout
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {pattern!r} on the terminal, but {self.text!r}")
            new = os.read(self.fd, 65536).decode(errors="replace")
            self.text += new
            self.all += new
        before = self.text[:found.start()]
        self.text = self.text[found.end():]
        return before

    def command(self, line):
        self.send(line + "\n")
        self.expect(re.escape(line[-20:]) + r"\r?\n")

    def wait_for_foreground(self, name, timeout=TIMEOUT):
        """Until the terminal's signals go to a program called NAME, which handles them already."""
        end = time.monotonic() + timeout
        found = None
        while found != name:
            if time.monotonic() > end:
                raise AssertionError(f"{found!r}, not {name!r}, has the terminal")
            time.sleep(0.01)
            try:
                with open(f"/proc/{os.tcgetpgrp(self.fd)}/comm", encoding="utf-8") as file:
                    found = file.read().strip()
            except OSError:
                found = None  # it has just ended

    def status(self):
        self.command("echo status=$?")
        self.expect("status=")
        said = self.expect(r"\r?\n")
        if not said.isdigit():
            raise AssertionError(f"no status, but {said!r}, after {self.all!r}")
        return int(said)


class JobControl(Case):
    def setUp(self):
        super().setUp()
        need("bash")
        self.terminal = Terminal(self)

    def test_control_c_stops_the_target_and_prints_the_report(self):
        self.terminal.command(f"{BOTTLENECK} sh -c 'echo rea''dy; exec sleep 60'")
        self.terminal.expect("ready")
        self.terminal.send("\x03")
        report = self.terminal.expect("prompt> ")
        self.assertIn("bottleneck: sh -c", report)
        self.assertEqual(self.terminal.status(), 130)

    def test_control_z_and_fg(self):
        # Not a command that the shell waits for: while that is between vfork() and exec(), its parent
        # cannot stop, with or without us.
        self.terminal.command(f"{BOTTLENECK} sh -c 'sleep 2 & echo rea''dy; wait; exit 3'")
        self.terminal.expect("ready")
        self.terminal.send("\x1a")
        self.terminal.expect("Stopped")
        self.terminal.expect("prompt> ")
        self.terminal.command("fg")
        report = self.terminal.expect("prompt> ")
        self.assertIn("bottleneck: sh -c", report)
        self.assertEqual(self.terminal.status(), 3)

    def test_it_runs_in_the_background(self):
        self.terminal.command(f"{BOTTLENECK} -R r sh -c 'sleep 1; exit 4' & wait $!; echo got=$?")
        self.terminal.expect("got=4")

    def test_the_target_knows_its_terminal(self):
        self.terminal.command(f"{BOTTLENECK} -R r sh -c 'test -t 0 && test -t 1 && test -t 2 && "
                              "tty > tty.txt; stty size; exit 8'")
        self.terminal.expect("prompt> ")
        self.assertEqual(self.terminal.status(), 8)
        self.assertTrue(os.path.exists(os.path.join(self.work, "tty.txt")))

    def test_the_terminal_is_as_it_was(self):
        self.terminal.command("stty -a > before")
        self.terminal.expect("prompt> ")
        self.terminal.command(f"{BOTTLENECK} true; stty -a > after; cmp before after && echo same''ness")
        self.terminal.expect("sameness")

    def test_a_shell_inside_has_job_control(self):
        self.terminal.command(f"{BOTTLENECK} -R r bash --norc -i")
        self.terminal.expect("prompt> ")
        self.terminal.command("sleep 60")
        self.terminal.wait_for_foreground("sleep")
        self.terminal.send("\x1a")
        self.terminal.expect("Stopped")
        self.terminal.expect("prompt> ")
        self.terminal.command("kill -KILL %1; sleep 0.5; exit 5")
        self.terminal.expect("prompt> ")
        self.assertEqual(self.terminal.status(), 5)

    def test_less(self):
        need("less")
        self.terminal.command(f"seq 1000 | {BOTTLENECK} -R r less")
        self.terminal.expect("10\r?\n")
        self.terminal.send("G")
        self.terminal.expect("1000")
        self.terminal.send("q")
        self.terminal.expect("prompt> ")
        self.assertEqual(self.terminal.status(), 0)

    def test_vi(self):
        need("vi")
        self.terminal.command(f"{BOTTLENECK} -R r vi note.txt")
        self.terminal.expect("note.txt")
        self.terminal.send("ihello there")
        self.terminal.expect("hello there")
        self.terminal.send("\x1b\x1a")
        self.terminal.expect("Stopped")
        self.terminal.expect("prompt> ")
        self.terminal.command("fg")
        self.terminal.expect("hello there")
        self.terminal.send(":wq\r")
        self.terminal.expect("prompt> ")
        self.assertEqual(self.terminal.status(), 0)
        with open(os.path.join(self.work, "note.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "hello there\n")

    def test_the_answer_is_what_the_screen_shows_last(self):
        self.terminal.command(f"NO_COLOR=1 {BOTTLENECK} --width 100 {target('shares')} 2>&1")
        shown = re.sub(r"\r|\x1b\[\?2004[hl]", "", self.terminal.expect("prompt> "))
        lines = shown.rstrip("\n").split("\n")
        report = lines[next(i for i, line in enumerate(lines) if line.startswith("bottleneck: ")):]
        self.assertLessEqual(len(report), 40, "\n".join(report))
        answer = report[len(report) - 1 - report[::-1].index(""):]
        self.assertIn("% of", " ".join(answer))
        self.assertIn("(bottleneck report)", answer[-1])
        # All of it is there for who asks.
        self.terminal.command(f"NO_COLOR=1 {BOTTLENECK} --width 100 -v {target('shares')} 2>&1")
        full = self.terminal.expect("prompt> ")
        self.assertIn("findings", full)
        self.assertIn("host ", full[full.index("limits"):])

    def test_a_saved_report_goes_through_the_pager(self):
        self.terminal.command(f"{BOTTLENECK} -q {target('shares')}")
        self.terminal.expect("prompt> ")
        for pager, expected, missing in (("sed s/limits/LIMITS/", "LIMITS", "limits"),
                                         ("head -n 1", "bottleneck: ", "limits"),
                                         ("no-such-pager", "limits", "LIMITS"),
                                         ("cat", "limits", "LIMITS"), ("", "limits", "LIMITS")):
            self.terminal.command(f"PAGER='{pager}' {BOTTLENECK} report")
            shown = self.terminal.expect("prompt> ")
            self.assertIn(expected, shown, pager)
            self.assertNotIn(f"\n{missing}", shown.replace("\x1b[1m", ""), pager)
            self.assertEqual(self.terminal.status(), 0, pager)
            self.terminal.expect("prompt> ")
        self.terminal.command(f"PAGER='sed s/limits/LIMITS/' {BOTTLENECK} report | cat")
        self.assertNotIn("LIMITS", self.terminal.expect("prompt> "))

    def test_less_is_the_pager(self):
        need("less")
        self.terminal.command(f"{BOTTLENECK} -q {target('shares')}")
        self.terminal.expect("prompt> ")
        self.terminal.command(f"{BOTTLENECK} report --ops --json; {BOTTLENECK} report")
        self.terminal.expect("bottleneck: ")
        self.terminal.expect(r"[\r\n]:")  # it waits for a key: more is to come
        self.terminal.send("q")
        self.assertNotIn("limits", self.terminal.expect("prompt> "))
        self.assertEqual(self.terminal.status(), 0)

    def test_colour_only_on_a_terminal_that_wants_it(self):
        self.terminal.command(f"{BOTTLENECK} true")
        self.assertIn("\x1b[", self.terminal.expect("prompt> "))
        self.terminal.command(f"NO_COLOR=1 {BOTTLENECK} true")
        self.assertNotIn("\x1b[1m", self.terminal.expect("prompt> "))


if __name__ == "__main__":
    main()
