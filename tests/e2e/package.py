# SPDX-License-Identifier: MIT
"""The program finds its agent, in the build tree, installed, and from the tarball, which also runs
where nothing but the C library is."""
import glob
import os
import re
import shutil
import tarfile
import tempfile
import unittest

from harness import BOTTLENECK, NO_PERF, Case, main, need, target

BUILD = os.environ.get("BUILD", "build")
# All that the C library's package brings and a C program may need.
GLIBC = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
         "librt.so.1", "libresolv.so.2")
NEWEST_GLIBC = (2, 34)  # as README says
BUILT_ON = (2, 36)  # Debian 12's


class Package(Case):
    packed = None

    def agent_works(self, binary):
        """Rung 3 needs the agent, so the agent was found."""
        report = self.path("report")
        done = self.bare([NO_PERF, binary, "-R", report, "--", target("shares")])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report, encoding="utf-8") as file:
            self.assertIn("hot_a", file.read())

    def unpack(self):
        need("objdump")
        if "libasan" in self.bare(["ldd", BOTTLENECK]).stdout.decode():
            raise unittest.SkipTest("a sanitized build is not for packing")
        with tarfile.open(self.tarball()) as archive:
            archive.extractall(self.path("unpacked"))
        root, = glob.glob(self.path("unpacked/*"))
        return root

    def tarball(self):
        """It takes seconds to make: one is for all tests."""
        if not Package.packed:
            folder = tempfile.mkdtemp(prefix="e2e-pack-")
            self.addClassCleanup(shutil.rmtree, folder)
            # What make has built is not asked for once more: that takes make half a minute.
            done = self.bare(["cpack", "-G", "TGZ", "-D", "CPACK_CMAKE_GENERATOR=Ninja", "-B", folder,
                              "--config",
                              os.path.join(BUILD, "CPackConfig.cmake")], cwd=BUILD, timeout=400)
            self.assertEqual(done.returncode, 0, done.stderr.decode() + done.stdout.decode())
            Package.packed, = glob.glob(folder + "/*.tar.gz")
        return Package.packed

    def test_it_takes_no_library_from_the_working_directory(self):
        need("readelf")
        done = self.bare(["readelf", "-d", BOTTLENECK])
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", done.stdout.decode()):
            self.assertTrue(all(part.startswith(("/", "$ORIGIN")) for part in path.split(":")), path)

    def test_it_finds_its_agent_in_the_build_tree(self):
        self.agent_works(BOTTLENECK)

    def test_it_finds_its_agent_when_installed_anywhere(self):
        prefix = self.path("prefix")
        done = self.bare(["cmake", "--install", BUILD, "--prefix", prefix])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.agent_works(os.path.join(prefix, "bin", "bottleneck"))
        moved = self.path("moved")
        shutil.move(prefix, moved)
        self.agent_works(os.path.join(moved, "bin", "bottleneck"))
        self.assertTrue(glob.glob(os.path.join(moved, "share/man/man1/bottleneck.1*")))

    def test_the_tarball_has_the_licence_of_all_that_it_packs(self):
        need("dpkg-query")
        root = self.unpack()
        licenses, = glob.glob(root + "/share/doc/*/licenses")
        found = glob.glob(root + "/lib*/bottleneck/*.so*")
        names = {os.path.basename(os.path.realpath(path)) for path in found}
        others = {name for name in names if not name.startswith("libbottleneck")}
        self.assertGreater(len(others), 8)
        for name in sorted(others) + ["libiberty.a"]:  # which is linked into the program
            owners = self.bare(["dpkg-query", "-S", "*/" + name]).stdout.decode()
            package = re.split("[:,]", owners, maxsplit=1)[0]
            with open(os.path.join(licenses, package, "copyright"), encoding="utf-8") as file:
                text = file.read()
            self.assertRegex(text, "(?i)license|public domain", name)
            for other in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text):
                self.assertTrue(os.path.getsize(os.path.join(licenses, "common-licenses", other)))

    def test_the_tarball_wants_no_newer_c_library(self):
        here = tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
        if here > BUILT_ON:
            self.skipTest("what is built here wants the C library of here")
        root = self.unpack()
        files = [os.path.join(root, "bin/bottleneck"), *glob.glob(root + "/lib*/**/*.so*", recursive=True)]
        for path in files:
            text = self.bare(["objdump", "-T", path]).stdout.decode()
            versions = {tuple(int(n) for n in word.strip("()")[6:].split("."))
                        for word in text.split() if word.strip("()").startswith("GLIBC_2")}
            self.assertLessEqual(max(versions, default=(2, 0))[:2], NEWEST_GLIBC, path)

    def test_the_tarball_runs_where_only_the_c_library_is(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root for chroot")
        root = self.unpack()
        jail = self.make_directory("jail")
        for name in ("lib64", "proc", "tmp", "dev"):
            os.mkdir(os.path.join(jail, name))
        for name in GLIBC:
            found = [p for d in ("/lib64", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
                     if os.path.exists(p := os.path.join(d, name))]
            shutil.copy(found[0], os.path.join(jail, "lib64", name))
        shutil.copytree(root, os.path.join(jail, "opt"), symlinks=True)
        shutil.copy(target("shares"), jail)
        shutil.copy(NO_PERF, jail)
        mount = ["unshare", "--mount", "sh", "-c",
                 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"', jail]
        probe = self.bare([*mount, "/shares"], env=self.environment(LD_LIBRARY_PATH="/lib64"))
        if probe.returncode:
            raise unittest.SkipTest(f"cannot make a chroot here: {probe.stderr.decode().strip()}")
        for wrapper in ([], ["/no_perf"]):
            done = self.bare([*mount, *wrapper, "/opt/bin/bottleneck", "-o", "/tmp/p", "--", "/shares"],
                             env={"LD_LIBRARY_PATH": "/lib64", "HOME": "/tmp", "TRUTH_MS": "300"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"hot_a", done.stderr)
            self.assertIn(b"shares.c:", done.stderr)


if __name__ == "__main__":
    main()
