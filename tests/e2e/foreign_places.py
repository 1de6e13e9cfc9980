# SPDX-License-Identifier: MIT
"""Root in other people's directories: their links lead nowhere, and nothing of root's is there."""
import os
import stat
import unittest

from harness import BOTTLENECK, NOBODY, Case, main, need, target


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ForeignPlaces(Case):
    def setUp(self):
        super().setUp()
        self.home = self.make_directory("home")
        self.root = self.make_directory("root")
        self.precious = self.path("precious")
        with open(self.precious, "w", encoding="ascii") as file:
            file.write("root's own")
        os.chown(self.home, NOBODY, NOBODY)

    def planted(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(self.precious, path)
        at = path
        while at != self.directory:
            os.chown(at, NOBODY, NOBODY, follow_symlinks=False)
            at = os.path.dirname(at)

    def run_in(self, environment, *arguments):
        """As root, whose home is a directory of the test's."""
        need("unshare", "mount")
        home = os.path.expanduser("~root")
        script = f'mount --bind {self.root} {home} && exec "$0" "$@"'
        done = self.bare(["unshare", "-m", "sh", "-c", script, BOTTLENECK, *arguments],
                         env=self.environment(**environment))
        if done.stderr.startswith((b"unshare: ", b"mount: ")):
            self.skipTest(f"no mount namespaces here: {done.stderr.decode()}")
        return done

    def assert_untouched(self):
        with open(self.precious, encoding="ascii") as file:
            self.assertEqual(file.read(), "root's own")
        for base, directories, files in os.walk(self.home):
            for name in directories + files:
                self.assertEqual(os.lstat(os.path.join(base, name)).st_uid, NOBODY, name)

    def test_the_environment_of_sudo_e(self):
        for environment in ({"HOME": self.home, "XDG_STATE_HOME": None},
                            {"HOME": self.home, "XDG_STATE_HOME": f"{self.home}/.local/state"}):
            self.planted(f"{self.home}/.local/state/bottleneck/last.bneck")
            done = self.run_in(environment, "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"belongs to another user", done.stderr.replace(b"\n    ", b" "))
            kept = f"{self.root}/.local/state/bottleneck/last.bneck"
            self.assertTrue(os.path.exists(kept))
            self.assertEqual(self.run_in(environment, "report").returncode, 0)
            self.assert_untouched()
            os.unlink(f"{self.home}/.local/state/bottleneck/last.bneck")
            os.unlink(kept)

    def test_links_where_a_file_is_named(self):
        link = f"{self.home}/out"
        self.planted(link)
        saved = self.path("saved.bneck")
        self.assertEqual(self.verb("-q", "-o", saved, "--", "true").returncode, 0)
        for line in (["-o", link, "--", "true"], ["-R", link, "--", "true"],
                     [f"--export=html={link}", "--", "true"],
                     ["report", f"--export=html={link}", saved],
                     ["merge", "-o", link, saved]):
            with self.subTest(line):
                done = self.verb(*line)
                self.assertIn(b"another user", done.stderr)
                self.assert_untouched()

    def test_a_runtime_directory_of_another_user(self):
        runtime = self.make_directory("runtime", 0o700)
        os.chown(runtime, NOBODY, NOBODY)
        environment = self.environment(XDG_RUNTIME_DIR=runtime)
        seen = self.path("seen")
        done = self.bare([BOTTLENECK, "-q", "--", "sh", "-c",
                          f'ls -A {runtime} > {seen}; echo "$BOTTLENECK_AGENT" >> {seen}'],
                         env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(seen, encoding="utf-8") as file:
            self.assertNotIn("bottleneck-", file.readline())

    def test_new_files_are_for_their_owner_alone(self):
        report, page, table = self.path("report"), self.path("page.html"), self.path("tables")
        for options, mode in ([], 0o600), (["--umask"], 0o644):
            for path in report, page:
                if os.path.exists(path):
                    os.unlink(path)
            line = [*options, "-R", report, f"--export=html={page}", "--", "true"]
            done = self.verb(*line, umask=0o022)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in report, page:
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode, (options, path))
        os.chmod(page, 0o664)
        self.assertEqual(self.verb(f"--export=html={page}", "--", "true").returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(page).st_mode), 0o664, "it was there")
        self.assertEqual(self.verb(f"--export=csv={table}", "--", "true").returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(table).st_mode), 0o700)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ForeignNames(Case):
    """What others have written is not believed: neither names of code nor paths of sources."""

    def test_the_map_of_another_user(self):
        secret = self.path("secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("the secret of root\n")
        os.chmod(secret, 0o600)
        planted = "/tmp/perf-$!.map"
        with open(self.path("map"), "w", encoding="ascii") as file:
            file.write(f"1000 7fffffffffff JS:*evil_name {secret}:1:1")
        script = (f'"$0" & sleep 0.2; rm {planted}; cp {self.path("map")} {planted}; chown {NOBODY} {planted}; wait; echo {planted}')
        page = self.path("page.html")
        done = self.profile_run(["sh", "-c", script, target("jit")], f"--export=html={page}")
        planted = done.out.decode().split()[-1]
        self.assertEqual(done.status, 0, done.err)
        with open(page, encoding="utf-8") as file:
            shown = done.report + file.read()
        self.assertFalse("evil_name" in shown)
        self.assertFalse("the secret of root" in shown)
        self.assertIn(f'"{planted}" belongs to uid {NOBODY}', " ".join(done.report.split()))
        os.unlink(planted)

    def shown(self, profile, *options):
        page = self.path("page.html")
        done = self.verb("report", *options, f"--export=html={page}", profile)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page, encoding="utf-8") as file:
            text = self.verb("report", *options, profile).stdout.decode()
            return ("sum(map(abs" in text, "sum(map(abs" in file.read())

    def test_source_text(self):
        program = self.path("app.py")
        with open(program, "w", encoding="ascii") as file:
            file.write("def f(): return sum(map(abs, range(900000)))\n"
                       "for _ in range(20): f()\n")
        os.chmod(program, 0o644)
        profile = self.profile_run(["python3", program]).profile
        self.assertEqual(self.shown(profile), (True, True))
        # As large and as old as in the run: it does not matter whose profile it is.
        os.chown(profile, NOBODY, NOBODY)
        self.assertEqual(self.shown(profile), (True, True))
        os.utime(program, (1000, 1000))
        self.assertEqual(self.shown(profile), (False, False))
        self.assertIn("--source shows it", self.verb("report", profile).stdout.decode())
        self.assertEqual(self.shown(profile, "--source"), (True, True))
        # Of root's own run it is shown, unless others may not read it.
        os.chown(profile, 0, 0)
        self.assertEqual(self.shown(profile), (True, True))
        os.chmod(program, 0o600)
        self.assertEqual(self.shown(profile), (False, False))
        self.assertEqual(self.shown(profile, "--source"), (True, True))
        os.chmod(program, 0o644)
        os.chown(profile, NOBODY, NOBODY)
        merged = self.path("merged.bneck")
        self.verb("merge", "-o", merged, profile)
        self.assertEqual(self.shown(merged), (True, True))


if __name__ == "__main__":
    main()
