# SPDX-License-Identifier: MIT
"""Small stacks, little address space, another root directory: the program is as without bottleneck."""
import os
import shutil
import subprocess
import unittest

from harness import Case, main, need, target

LIMITED_SPAWNS = os.environ.get("LIMITED_SPAWNS", "build/tests/limited_spawns")
RUNGS = ("kernel", "user", "agent")
SPIN = "/usr/bin/python3 -c 'n = 0\nfor i in range(2000000): n += i\nprint(n)'"


class Limits(Case):
    def assert_same(self, command, rung, *options):
        bare = self.bare(command)
        done = self.profile_run(command, "--rung", rung, *options)
        self.assertEqual((done.status, done.out, done.err),
                         (bare.returncode, bare.stdout, bare.stderr), f"{command}, {rung}")
        return done

    def test_a_stack_of_256_kilobytes(self):
        # bottleneck itself has no larger one here.
        def small():
            import resource
            resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))
        for rung in RUNGS:
            done = self.profile_run(["sh", "-c", "echo out; exit 3"], "--rung", rung, "--trace",
                                    "main", preexec_fn=small)
            self.assertEqual((done.status, done.out, done.err), (3, b"out\n", b""), rung)
            self.assertIn("exit 3", done.report)

    def test_what_leaves_the_agent_no_room_goes_without_it(self):
        need("/usr/bin/python3")
        for rung in RUNGS:
            for kilobytes in (20000, 40000, 100000, 255000):
                done = self.assert_same(["sh", "-c", f"ulimit -v {kilobytes}; {SPIN}"], rung)
                self.assertIn("ulimit -v", done.report, f"{kilobytes} KB, {rung}")

    def test_programs_that_are_spawned_in_little_address_space_go_without_it(self):
        for rung in RUNGS:
            for how in ("posix_spawn", "posix_spawnp", "system", "popen"):
                done = self.assert_same([LIMITED_SPAWNS, how], rung)
                self.assertIn("on address space (ulimit -v)", " ".join(done.report.split()),
                              f"{how}, {rung}")

    def test_bottleneck_itself_in_little_address_space(self):
        def short():
            import resource
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
        done = self.profile_run(["sh", "-c", "ulimit -v"], preexec_fn=short)
        self.assertEqual((done.status, done.out), (0, b"204800\n"))
        self.assertIn("the agent is not loaded", done.report)

    def test_where_address_space_is_limited_the_agent_takes_a_part(self):
        def peak(text):
            return int(text.split()[1])
        need("/usr/bin/python3")
        show = "/usr/bin/python3 -c 'print(next(l for l in open(\"/proc/self/status\") if \"VmPeak\" in l))'"
        command = ["sh", "-c", f"ulimit -v 300000; {show}"]
        bare = peak(self.bare(command).stdout)
        for rung in RUNGS:
            done = self.profile_run(command, "--rung", rung)
            self.assertEqual(done.status, 0, done.err)
            self.assertLess(peak(done.out) - bare, 100000, rung)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class AnotherRoot(Case):
    """A program in a directory that has its libraries, and not the agent."""

    def setUp(self):
        super().setUp()
        need("chroot", "ldd")
        self.jail = self.make_directory("jail")
        program = shutil.which("sh")
        found = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        libraries = [word for line in found.splitlines() for word in line.split()
                     if word.startswith("/")]
        for path in [program, *libraries]:
            to = self.jail + os.path.realpath(os.path.dirname(path))
            os.makedirs(to, exist_ok=True)
            shutil.copy(path, os.path.join(to, os.path.basename(path)))
        for name in ("lib", "lib64", "bin"):  # as they are outside
            if os.path.islink("/" + name) and not os.path.exists(f"{self.jail}/{name}"):
                os.symlink(os.readlink("/" + name), f"{self.jail}/{name}")
        os.makedirs(f"{self.jail}/bin", exist_ok=True)

    def test_its_loader_has_nothing_to_complain_of(self):
        inner = ["/bin/sh", "-c", "/bin/sh -c 'echo in; exit 4'"]
        for rung in RUNGS:
            done = self.profile_run(["chroot", self.jail, *inner], "--rung", rung)
            self.assertEqual((done.status, done.out, done.err), (4, b"in\n", b""), rung)
            self.assertIn("another root directory", " ".join(done.report.split()))

    def test_other_preloaded_libraries_stay(self):
        done = self.profile_run(["chroot", self.jail, "/bin/sh", "-c", "echo $LD_PRELOAD"],
                                env=self.environment(LD_PRELOAD="/not/there.so"))
        self.assertEqual(done.status, 0)
        self.assertEqual(done.out, b"/not/there.so\n")

    def test_bubblewrap(self):
        need("bwrap")
        command = ["bwrap", "--bind", self.jail, "/", "--", "/bin/sh", "-c", "echo in; exit 4"]
        bare = self.bare(command)
        if bare.returncode != 4:
            self.skipTest(f"no bubblewrap here: {bare.stderr.decode()}")
        for rung in RUNGS:
            done = self.profile_run(command, "--rung", rung)
            self.assertEqual((done.status, done.out, done.err), (4, b"in\n", b""), rung)


if __name__ == "__main__":
    main()
