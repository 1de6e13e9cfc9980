# SPDX-License-Identifier: MIT
"""kill -9 of the collector: the program goes on, its agents fill no disk, the next run cleans up."""
import os
import signal
import subprocess
import time

from harness import BOTTLENECK, NO_PERF, Case, main

RUNGS = {
    "kernel": ([], []),
    "user": (["--rung=user"], []),
    "agent": ([], [NO_PERF]),
}
# One process before, 60 after the collector has gone, the last of which tells.
SCRIPT = """
echo $$ >started; while [ ! -e go ]; do sleep 0.05; done
i=0; while [ $i -lt 60 ]; do {program} || exit 1; i=$((i + 1)); done
echo all >ended; exit 7
"""
FORKS = ("import os\n"
         "for i in range(60):\n"
         "    pid = os.fork()\n"
         "    if not pid:\n"
         "        sum(range(300000)); os._exit(0)\n"
         "    assert os.waitpid(pid, 0)[1] == 0\n")
OLD_S = 60


def size_of(directory):
    return sum(os.lstat(os.path.join(root, name)).st_blocks * 512
               for root, _, names in os.walk(directory) for name in names)


class CollectorKilled(Case):
    def setUp(self):
        super().setUp()
        # Root uses only what other users can get to.
        self.runtime = self.make_directory("runtime", 0o711)

    def left(self):
        return sorted(os.listdir(self.runtime))

    def start(self, rung, script):
        options, prefix = RUNGS[rung]
        for name in ("started", "go", "ended"):
            if os.path.exists(os.path.join(self.work, name)):
                os.unlink(os.path.join(self.work, name))
        run = subprocess.Popen(
            [*prefix, BOTTLENECK, *options, "--trace", "nothing", "-o", self.path("p.bneck"), "sh",
             "-c", script],
            env=self.environment(XDG_RUNTIME_DIR=self.runtime), cwd=self.work,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for("started")
        return run

    def wait_for(self, name):
        end = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.work, name)):
            self.assertLess(time.monotonic(), end, f"no {name}")
            time.sleep(0.02)

    def age(self):
        for name in self.left():
            then = time.time() - OLD_S
            os.utime(os.path.join(self.runtime, name), (then, then))

    def run_next(self):
        return self.profile_run(["true"], env=self.environment(XDG_RUNTIME_DIR=self.runtime))

    def check(self, rung, program):
        run = self.start(rung, SCRIPT.format(program=program))
        run.send_signal(signal.SIGKILL)
        run.wait()
        before = size_of(self.runtime)
        open(os.path.join(self.work, "go"), "w").close()
        self.wait_for("ended")
        left = self.left()
        self.assertEqual(len(left), 1)
        files = [name for _, _, names in os.walk(self.runtime) for name in names]
        # The processes that were there when it was killed, the shell and its sleep, and our locks.
        self.assertLessEqual(len(files), 7, files)
        self.assertLessEqual(size_of(self.runtime), before + (1 << 20))
        self.age()
        self.assertEqual(self.run_next().status, 0)
        self.assertEqual(self.left(), [])

    def test_short_processes(self):
        for rung in RUNGS:
            with self.subTest(rung=rung):
                self.check(rung, "/bin/true")

    def test_children_that_are_only_forked(self):
        path = self.path("forks.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FORKS)
        for rung in ("kernel", "agent"):
            with self.subTest(rung=rung):
                self.check(rung, f"[ $i -gt 0 ] || python3 {path}")

    def test_a_live_run_survives_others_that_start(self):
        # It makes no files while it waits, so that its directory can grow old.
        gate = os.path.join(self.work, "gate")
        os.mkfifo(gate)
        run = self.start("agent", "echo $$ >started; read line <gate; exit 7")
        time.sleep(0.3)
        (live,) = self.left()
        self.age()
        others = [subprocess.Popen(
            [BOTTLENECK, "-q", "-o", self.path(f"{i}.bneck"), "true"],
            env=self.environment(XDG_RUNTIME_DIR=self.runtime), cwd=self.work,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for i in range(20)]
        self.assertEqual([other.wait() for other in others], [0] * 20)
        self.assertEqual(self.left(), [live])
        open(gate, "w").close()
        self.assertEqual(run.wait(), 7)
        self.assertEqual(self.left(), [])

    def test_what_is_no_dead_runs_stays(self):
        outside = self.make_directory("outside", 0o700)
        for name in ("collector", "precious"):
            open(os.path.join(outside, name), "w").close()
        os.symlink(outside, os.path.join(self.runtime, "bottleneck-linked"))
        os.mkdir(os.path.join(self.runtime, "bottleneck-noLock"), 0o700)
        linked = os.path.join(self.runtime, "bottleneck-lockIs")
        os.mkdir(linked, 0o700)
        os.symlink(os.path.join(outside, "collector"), os.path.join(linked, "collector"))
        fresh = os.path.join(self.runtime, "bottleneck-freshX")
        os.mkdir(fresh, 0o700)
        open(os.path.join(fresh, "collector"), "w").close()
        for name in ("bottleneck-noLock", "bottleneck-lockIs"):
            os.utime(os.path.join(self.runtime, name), (1, 1))
        before = self.left()
        self.assertEqual(self.run_next().status, 0)
        self.assertEqual(self.left(), before)
        self.assertEqual(sorted(os.listdir(outside)), ["collector", "precious"])


if __name__ == "__main__":
    main()
