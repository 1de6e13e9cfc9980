# SPDX-License-Identifier: MIT
"""Programs that reset all signals, by all ways there are, and debuggers: none notices our ticks."""
import os
import re
import sys

from harness import NO_PERF, Case, main, need

PROGRAM = os.path.abspath(os.environ.get("SIGNAL_RESET", "build/tests/signal_reset"))
LIBRARY = os.path.abspath(os.environ.get("SIGNAL_RESET_LIBRARY",
                                         "build/tests/libsignal_reset.so"))
TRACED = os.path.abspath(os.environ.get("TRACED", "build/tests/traced"))
WAYS = ("signal", "sysv_signal", "ssignal", "sigset", "sigaction", "syscall", "raw", "sigignore")
RUNGS = {"kernel": ([], []), "user": (["--rung=user"], []), "agent": ([], [NO_PERF])}
BUSY = """
import time
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
"""
BY_NAME = """
import ctypes
busy(0.05)
libc = ctypes.CDLL({libc!r}, use_errno=True)
reset = libc[{name!r}]
reset.argtypes, reset.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
for number in range(1, 65):
    reset(number, None)
busy(0.06)
print("done")
"""
BY_NUMBER = """
import ctypes
busy(0.05)
libc = ctypes.CDLL("libc.so.6")
action = ctypes.create_string_buffer(32)
for number in range(1, 65):
    libc.syscall(13, number, action, None, ctypes.c_long(8))
busy(0.06)
print("done")
"""
BY_LIBRARY = """
import ctypes, threading
library = ctypes.CDLL({library!r})
thread = threading.Thread(target=busy, args=(0.05,))
thread.start(); thread.join()
for _ in range(3):
    library.reset_all({way!r})
    busy(0.05)
print("done")
"""


class Resets(Case):
    def check(self, command, rung, samples=None):
        # Of 100 ms and more at 999 Hz, and at the 250 Hz and less of timers.
        samples = samples or (8 if rung == "agent" else 30)
        options, prefix = RUNGS[rung]
        done = self.profile_run(command, *options, prefix=prefix)
        self.assertEqual((done.status, done.out), (0, b"done\n"), f"{command}: {done.err}")
        seen = re.search(r"([\d,]+) samples", done.report)
        self.assertTrue(seen, done.report)
        self.assertGreater(int(seen[1].replace(",", "")), samples, done.report)
        return done

    def python(self, text, rung, **values):
        return self.check([sys.executable, "-c", BUSY + text.format(**values)], rung)

    def test_programs(self):
        for rung in RUNGS:
            for way in WAYS:
                # Whose action is reset where nobody sees it: what came before it was sampled.
                few = 3 if (way, rung) == ("raw", "agent") else None
                with self.subTest(rung=rung, way=way):
                    self.check([PROGRAM, way], rung, few)

    def test_python_asks_libc_by_name(self):
        for rung in RUNGS:
            for name in ("signal", "sigset"):
                with self.subTest(rung=rung, name=name):
                    self.python(BY_NAME, rung, libc="libc.so.6", name=name)
            with self.subTest(rung=rung, name="the program's own"):
                self.python(BY_NAME, rung, libc=None, name="signal")

    def test_python_calls_the_kernel_by_number(self):
        for rung in RUNGS:
            with self.subTest(rung=rung):
                self.python(BY_NUMBER, rung)

    def test_python_loads_code_that_calls_the_kernel_by_itself(self):
        for rung in RUNGS:
            with self.subTest(rung=rung):
                done = self.python(BY_LIBRARY, rung, library=LIBRARY, way="raw")
                if rung != "agent":
                    self.assertIn("behind libc's back", self.limits(done))

    def limits(self, done):
        return self.verb("report", "--verbose", done.profile).stdout.decode().replace("\n", " ")

    def test_tracers_see_no_ticks(self):
        python = f"exec {sys.executable} -c 'for i in range(8000000): pass'"
        wanted = [b"by libc: ended with 3", b"by syscall: ended with 3", b"command: ended with 0",
                  b"command: ended with 7"]
        command = [TRACED, python, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7"]
        for rung, (options, prefix) in RUNGS.items():
            with self.subTest(rung=rung):
                done = self.profile_run(command, *options, prefix=prefix)
                self.assertEqual(done.out.splitlines(), wanted)
                if rung == "agent":
                    self.assertIn("traced by a debugger", self.limits(done))

    def test_gdb_does_not_stop(self):
        need("gdb")
        script = self.path("busy.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(BUSY + "busy(0.2)\nprint('done')\n")
        for rung in ("user", "agent"):
            for command in ([PROGRAM, "signal"], [sys.executable, script]):
                options, prefix = RUNGS[rung]
                gdb = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run",
                       "--args", *command]
                with self.subTest(rung=rung, command=command):
                    done = self.profile_run(gdb, *options, prefix=prefix)
                    out = done.out.decode()
                    self.assertEqual(done.status, 0)
                    self.assertIn("exited normally", out)
                    self.assertNotIn("received signal", out)


if __name__ == "__main__":
    main()
