# SPDX-License-Identifier: MIT
"""Each way in which a thread or a process waits for another one, and what sees it on each rung.

WAITING_KINDS names tests/programs/waiting_kinds.c, WAITING_SEMAPHORES waiting_semaphores.c, and
WAITING waiting.c; ctest sets them.
"""
import csv
import io
import os
import shutil
import sys

from harness import NO_PERF, Case, main, need, python_for_nobody, unprivileged

KINDS = os.path.abspath(os.environ.get("WAITING_KINDS", "build/tests/waiting_kinds"))
SEMAPHORES = os.path.abspath(os.environ.get("WAITING_SEMAPHORES", "build/tests/waiting_semaphores"))
WAITING = os.path.abspath(os.environ.get("WAITING", "build/tests/waiting"))
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs")
FIRST_SPACE = 0xEFFFFFFC  # the inode of the first PID namespace
CONTENTION = "[waiting for a free CPU]"

# What is waited for, by its name in the table of waits.
RESOURCES = {
    "recursive": "mutex", "errorcheck": "mutex", "pi": "mutex", "adaptive": "mutex",
    "reader": "read-write lock", "writer": "read-write lock", "spinlock": "spinlock",
    "child": "child", "unix": "pipe or socket", "tcp": "pipe or socket",
    "signalfd": "signal", "sigtimedwait": "signal", "pause": "signal", "pidfd": "signal",
}
SIGNALS = tuple(kind for kind, resource in RESOURCES.items() if resource == "signal")
RUNGS = {
    "unprivileged": ([], unprivileged()),
    "agent": (["--rung=agent"], []),
    "unprivileged, no perf events": ([], [*unprivileged(), NO_PERF]),
}


class WaitsKinds(Case):
    def run_program(self, command, *options, prefix=(), **more):
        os.chmod(self.directory, 0o777)
        result = self.profile_run(command, *options, prefix=prefix, **more)
        self.assertEqual(result.status, 0, result.err)
        return result

    def table(self, profile, name):
        done = self.verb("report", "--export", "csv=-", "--table", name, profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout.decode())))

    def share(self, profile, name):
        """Of the wall time less contention."""
        rows = [row for row in self.table(profile, "wall") if row["name"] != CONTENTION]
        own = {row["name"]: int(row["wall_ns"]) for row in rows}
        return own.get(name, 0) / sum(own.values())

    def until_right(self, check, *arguments):
        """A machine that is busy with others may spoil one run, or two."""
        tries = []
        while len(tries) < 3 and (not tries or tries[-1]):
            tries.append(check(*arguments))
        self.assertFalse(tries[-1], tries)

    def check_waits(self, profile, resource, holder, least_share, least_seen=0.4):
        """What is wrong: waits of show()'s thread for RESOURCE are for HOLDER."""
        # Semaphores make both take turns.
        rows = [row for row in self.table(profile, "waits") if row["resource"] != "semaphore"]
        total = sum(int(row["total_ns"]) for row in rows)
        right = sum(int(row["total_ns"]) for row in rows
                    if row["resource"] == resource and row["holder"] == holder)
        # Who sends a signal is known, not guessed.
        right -= sum(int(row["total_ns"]) for row in rows
                     if resource == "signal" and row["guessed"] == "true" and
                     row["resource"] == resource)
        # 8 ms in each of 30 rounds. A first sample may be missed; without perf events, when a
        # thread was blocked is an estimate, and part of it is taken for waiting for a CPU.
        least = least_seen * 30 * 8e6
        return [] if right > max(least, least_share * total) else [f"{right} of {total} ns: {rows}"]

    def check_kind(self, kind, rung, least_share, tolerance, least_seen=0.4):
        options, prefix = RUNGS[rung]
        profile = self.run_program([KINDS, kind], *options, prefix=prefix).profile
        wrong = self.check_waits(profile, RESOURCES[kind], "render", least_share,
                                 least_seen)
        own = {row["name"]: int(row["wall_ns"]) for row in self.table(profile, "wall")}
        # To start processes and to connect takes time of its own.
        share = own.get("render", 0) / max(own.get("render", 0) + own.get("show", 0), 1)
        if not 0.75 - tolerance < share < 0.83 + tolerance:
            wrong.append(f"render {share:.3f}")
        return wrong

    def test_who_is_waited_for_is_named_whatever_the_way(self):
        for kind in RESOURCES:
            with self.subTest(kind):
                self.until_right(self.check_kind, kind, "unprivileged", 0.95, 0.06)

    def test_it_is_named_without_perf_events_too(self):
        # When a thread was blocked is an estimate there, unless it reports that itself.
        for kind, tolerance in (("recursive", 0.06), ("reader", 0.06), ("writer", 0.06),
                                ("child", 0.1), ("tcp", 0.2)):
            with self.subTest(kind):
                self.until_right(self.check_kind, kind, "unprivileged, no perf events", 0.85,
                                 tolerance)

    def test_who_sends_a_signal_is_known_without_perf_events_too(self):
        # An estimate of when the wait ended that is before the signal finds none.
        for rung in ("agent", "unprivileged, no perf events"):
            for kind in SIGNALS:
                with self.subTest(kind, rung=rung):
                    self.until_right(self.check_kind, kind, rung, 0.5, 0.25, 0.25)

    def check_shared(self, scene, resource, holder, rung):
        options, prefix = RUNGS[rung]
        profile = self.run_program([WAITING, scene], *options, prefix=prefix).profile
        rows = [row for row in self.table(profile, "waits") if row["resource"] == resource and
                row["waiter"] == f"{scene}_scene"]
        total = sum(int(row["total_ns"]) for row in rows)
        right = sum(int(row["total_ns"]) for row in rows if row["holder"] == holder)
        wrong = [] if total and right > 0.9 * total else [f"{right} of {total} ns: {rows}"]
        # The truth is 0.8 and 0.9, on an idle machine: what waits for a CPU overlaps with work.
        share = self.share(profile, holder)
        return wrong + ([] if share > 0.6 else [f"{holder} {share:.3f}"])

    def test_what_processes_share_has_a_holder_on_each_rung(self):
        for rung in ("agent", "unprivileged, no perf events"):
            for scene, resource, holder in (("shared_semaphore", "semaphore", "render"),
                                            ("shared_mutex", "mutex", "flush_log")):
                with self.subTest(scene, rung=rung):
                    self.until_right(self.check_shared, scene, resource, holder, rung)

    def check_lock(self, use, rung, holder):
        options, prefix = RUNGS[rung]
        result = self.run_program([SEMAPHORES, use], *options, prefix=prefix)
        first = " ".join(result.report.split("\n\n", maxsplit=1)[0].split())
        wrong = [] if "holds a semaphore while" in first else [first]
        rows = [row for row in self.table(result.profile, "waits")
                if row["resource"].startswith("semaphore")]
        total = sum(int(row["total_ns"]) for row in rows)
        right = sum(int(row["total_ns"]) for row in rows if row["holder"] == holder)
        return wrong + ([] if right > 0.8 * total > 0 else [f"{right} of {total} ns: {rows}"])

    def test_who_holds_a_semaphore_that_is_used_as_a_lock_is_named(self):
        for rung in ("unprivileged", "agent"):
            for use in ("lock", "processes", "hog"):
                with self.subTest(use, rung=rung):
                    self.until_right(self.check_lock, use, rung, "flush_log")

    def check_no_lock(self, use, rung):
        options, prefix = RUNGS[rung]
        result = self.run_program([SEMAPHORES, use], *options, prefix=prefix)
        return [result.report] if "CPU-HOLDER" in result.report else []

    def test_who_posts_a_semaphore_that_is_no_lock_holds_nothing(self):
        for rung in ("unprivileged", "agent"):
            for use in ("queue", "pool", "meeting", "turns"):
                with self.subTest(use, rung=rung):
                    self.until_right(self.check_no_lock, use, rung)

    def check_apart(self, kind):
        result = self.run_program([KINDS, kind, "apart"])
        waits = sum(int(row["total_ns"]) for row in self.table(result.profile, "waits")
                    if row["resource"] == RESOURCES[kind])
        wrong = [] if waits < 20e6 else [f"{waits} ns in waits"]
        return wrong + [name for name in ("CPU-HOLDER", "CPU-LOCK", "IO-WAIT")
                        if name in result.report]

    def test_those_who_do_not_wait_are_told_of_no_waits(self):
        for kind in ("recursive", "writer", "unix", *SIGNALS):
            with self.subTest(kind):
                self.until_right(self.check_apart, kind)

    def check_python(self, scene, holder):
        program = os.path.join(PROGRAMS, "waiting.py")
        shutil.copy(program, self.path("waiting.py"))
        result = self.run_program([python_for_nobody(), self.path("waiting.py"), scene],
                                  prefix=unprivileged())
        with open(program, encoding="utf-8") as source:
            wanted = {number for number, text in enumerate(source, 1) if "# wanted" in text}
        rows = [row for row in self.table(result.profile, "waits")
                if int(row["waiter_line"] or 0) in wanted and
                row["waiter_file"].endswith("waiting.py")]
        total = sum(int(row["total_ns"]) for row in rows)
        right = sum(int(row["total_ns"]) for row in rows if row["holder"] == holder)
        return [] if total > 50e6 and right > 0.9 * total else [f"{right} of {total}: {rows}"]

    def test_python_waits_for_who_makes_what_it_wants(self):
        for scene in ("condition", "future"):
            with self.subTest(scene):
                self.until_right(self.check_python, scene, "store")

    def check_loader(self):
        result = self.profile_run([sys.executable, os.path.join(PROGRAMS, "waiting.py"), "loader"])
        share = self.share(result.profile, "count")
        # The worker's queue is written by a thread of its own, which waits for count() in turn.
        wrong = [] if share > 0.5 else [f"count {share:.3f}"]
        return wrong + ([] if "count (waiting.py:" in result.report else [result.report])

    def test_who_waits_for_a_worker_of_a_loader_waits_for_its_work(self):
        self.until_right(self.check_loader)

    def test_a_barrier_of_llvm_waits_for_who_comes_last(self):
        need("clang")
        program = self.path("openmp")
        done = self.bare(["clang", "-g", "-O1", "-fopenmp=libomp", "-o", program,
                          os.path.join(PROGRAMS, "waiting_openmp.c")])
        if done.returncode != 0:
            self.skipTest("clang has no libomp here")
        self.until_right(self.check_llvm, program)

    def check_llvm(self, program):
        env = self.environment(OMP_WAIT_POLICY="passive")
        profile = self.run_program([program], env=env).profile
        share = self.share(profile, "right")
        return [] if abs(share - 0.75) < 0.1 else [f"right {share:.3f}"]

    def rust_program(self):
        need("rustc")
        program = self.path("rust")
        done = self.bare(["rustc", "-g", "-O", "-o", program,
                          os.path.join(PROGRAMS, "waiting_rust.rs")],
                         env={**os.environ, "TMPDIR": self.work})
        if done.returncode != 0:
            self.skipTest("rustc does not work here")
        return program

    def test_the_kernel_tells_who_ends_waits_that_the_agent_does_not_see(self):
        if os.geteuid() != 0 or os.stat("/proc/self/ns/pid").st_ino != FIRST_SPACE:
            self.skipTest("it tells that to root alone, in the first PID namespace")
        self.until_right(self.check_told, [self.rust_program()], "mutex", "keep")
        for kind in ("unix", "tcp"):
            self.until_right(self.check_told, [KINDS, kind], "pipe or socket", "render")

    def check_told(self, command, resource, holder):
        rows = [row for row in self.table(self.run_program(command).profile, "waits")
                if row["resource"] == resource]
        total = sum(int(row["total_ns"]) for row in rows)
        right = sum(int(row["total_ns"]) for row in rows
                    if row["holder"].endswith(holder) and row["guessed"] == "false")
        return [] if right > 0.9 * total > 0 else [f"{right} of {total} ns: {rows}"]

    def test_it_is_said_that_rust_keeps_no_owner(self):
        profile = self.run_program([self.rust_program()], prefix=unprivileged()).profile
        rows = [row for row in self.table(profile, "waits") if row["resource"] == "mutex"]
        self.assertTrue(rows)
        self.assertEqual({row["guessed"] for row in rows if row["holder"]} - {"true"}, set(), rows)
        text = " ".join(self.verb("report", "--waits", profile).stdout.decode().split())
        self.assertRegex(text, r"The holder is (inferred|unknown) for [\d.]+ % of this time")


if __name__ == "__main__":
    main()
