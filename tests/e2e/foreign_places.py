# SPDX-License-Identifier: MIT
"""Root in other people's directories: their links lead nowhere, and nothing of root's is there."""
import os
import stat
import unittest

from harness import BOTTLENECK, NOBODY, Case, main, need


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
        if b"unshare failed" in done.stderr or b"mount: " in done.stderr:
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


if __name__ == "__main__":
    main()
