# SPDX-License-Identifier: MIT
"""bottleneck bench: what it measures, what it compares, and what it does with runs that fail."""
import json
import os
import signal
import subprocess
import time

from harness import BOTTLENECK, Case, main, target


class Bench(Case):
    def bench(self, *arguments, **options):
        return self.verb("bench", *arguments, **options)

    def sides(self, *arguments):
        done = self.bench("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "bottleneck-bench")
        return document["sides"], document["ratios"]

    def test_a_run_takes_what_it_sleeps(self):
        (side,), ratios = self.sides("-n", "6", "sleep", "0.1")
        self.assertEqual(ratios, [])
        self.assertEqual(side["command"], "sleep 0.1")
        self.assertEqual((side["runs"], len(side["wall_ns"]["values"])), (6, 6))
        self.assertGreaterEqual(min(side["wall_ns"]["values"]), 100e6)
        self.assertLess(side["user_ns"]["median"], 100e6)
        self.assertLessEqual(side["wall_ns"]["low"], side["wall_ns"]["median"])
        self.assertGreaterEqual(side["wall_ns"]["high"], side["wall_ns"]["median"])

    def test_the_slower_one_is_told(self):
        sides, (ratio,) = self.sides("-n", "6", "--vs", "sleep '0.3'", "sleep", "0.05")
        self.assertEqual([side["command"] for side in sides], ["sleep 0.05", "sleep 0.3"])
        self.assertEqual((ratio["base"], ratio["other"], ratio["pairs"]), (0, 1, 6))
        self.assertGreater(ratio["low"], 1)
        text = self.verb("report").stdout.decode()
        self.assertIn("B is slower", text)

    def test_cpu_time_and_memory_are_the_commands(self):
        (side,), _ = self.sides("-n", "2", target("loop"), "warm")
        self.assertGreater(side["user_ns"]["median"], 0)
        self.assertLess(side["user_ns"]["median"] + side["system_ns"]["median"],
                        side["wall_ns"]["median"] * 1.05)
        big = "x = bytearray(200 << 20)"
        (side,), _ = self.sides("-n", "1", "python3", "-c", big)
        self.assertGreater(side["peak_rss_bytes"]["median"], 200 << 20)

    def test_runs_go_on_for_the_time_and_ten_times(self):
        (side,), _ = self.sides("--min-time", "0.01", "true")
        self.assertGreaterEqual(side["runs"], 10)
        (side,), _ = self.sides("--min-time", "0.3", "sleep", "0.01")
        self.assertGreaterEqual(sum(side["wall_ns"]["values"]), 0.3e9)

    def test_warm_up_does_not_count(self):
        script = "echo x >>ran"
        (side,), _ = self.sides("-n", "3", "--warmup", "2", "sh", "-c", script)
        self.assertEqual(side["runs"], 3)
        with open(os.path.join(self.work, "ran"), encoding="ascii") as file:
            self.assertEqual(len(file.readlines()), 5)

    def test_calls_of_a_function_are_timed(self):
        (side,), _ = self.sides("-n", "3", "--trace", "work", "--range", "work",
                                target("loop"), "warm")
        self.assertEqual(side["range"], "work")
        self.assertEqual(side["calls"] % 3, 0)
        self.assertGreater(side["calls"], 3)
        call, wall = side["call_ns"]["median"], side["wall_ns"]["median"]
        self.assertGreater(call, 0)
        self.assertLess(call * side["calls"] / 3, wall)

    def test_an_op_that_is_not_there(self):
        done = self.bench("-n", "2", "--range", "nothing", "true")
        self.assert_clean_message(done, "has no op \"nothing\"")

    def test_the_program_reads_and_writes_nothing(self):
        done = self.bench("-n", "2", "sh", "-c", "cat; echo out; echo err >&2", input=b"in")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"\nout\n", done.stdout)
        self.assertEqual(done.stderr, b"")
        done = self.bench("-n", "2", "--show-output", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(done.stderr, b"err\n" * 2)
        self.assertTrue(done.stdout.startswith(b"out\nout\n"))

    def test_a_failure_ends_it(self):
        done = self.bench("sh", "-c", "exit 3")
        self.assert_clean_message(done, "status 3")
        self.assertEqual(done.returncode, 3)
        done = self.bench("sh", "-c", "kill -SEGV $$")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        script = "test $(cat n 2>/dev/null | wc -l) -lt 2 && echo >>n || exit 1"
        done = self.bench("sh", "-c", script)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"2 runs", done.stdout)  # those before are told

    def test_failures_can_be_ignored(self):
        (side,), _ = self.sides("-n", "4", "--ignore-failure", "sh", "-c",
                                "echo >>n; test $(wc -l <n) -ne 2")
        self.assertEqual((side["runs"], side["failed"]), (3, 1))

    def test_what_cannot_run(self):
        self.assertEqual(self.bench("./no-such-program").returncode, 127)
        self.assertEqual(self.bench("/etc").returncode, 126)
        self.assert_clean_message(self.bench())
        self.assert_clean_message(self.bench("--vs", "a | b", "true"), "needs a shell")
        self.assert_clean_message(self.bench("--vs", "'a", "true"), "not closed")

    def test_times_are_kept(self):
        kept = self.path("times.bneck")
        self.assertEqual(self.bench("-n", "3", "-o", kept, "true").returncode, 0)
        shown = self.verb("report", "--json", kept)
        self.assertEqual(json.loads(shown.stdout)["sides"][0]["runs"], 3)
        done = self.bench("-n", "1", "-o", "/no/such/directory/x", "true")
        self.assert_clean_message(done, "/no/such/directory/x")

    def test_an_interrupt_prints_what_is_there(self):
        with subprocess.Popen([BOTTLENECK, "bench", "sh", "-c", "echo x >>ran; exec sleep 0.2"],
                              cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            ran = os.path.join(self.work, "ran")
            deadline = time.monotonic() + 60
            while not os.path.exists(ran) or os.path.getsize(ran) < 6:
                self.assertLess(time.monotonic(), deadline, "no three runs")
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT, err.decode())
        self.assertIn(b"runs", out)


if __name__ == "__main__":
    main()
