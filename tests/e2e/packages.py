# SPDX-License-Identifier: MIT
"""The packages of bottleneck-install(7), installed each in a place of its own and used from there.
tests/e2e/package.py has the tarball."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from harness import BOTTLENECK, NO_PERF, Case, main, need, target, unprivileged

BUILD = os.environ.get("BUILD", "build")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "man", "bottleneck-install.7")
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

SLOW_TESTS = """import time
import pytest

def test_fast():
    pass

@pytest.mark.parametrize("n", [1, 2])
def test_waits(n):
    time.sleep(0.3 * n)

def test_fails():
    time.sleep(0.9)
    assert False
"""


def sanitized():
    return b"libasan" in subprocess.run(["ldd", BOTTLENECK], capture_output=True, check=False).stdout


class Packages(Case):
    """What is made takes seconds: one of each is for all tests."""
    made = {}

    def setUp(self):
        super().setUp()
        if sanitized():
            raise unittest.SkipTest("a sanitized build is not for packing")

    def pack(self, generator):
        if generator not in Packages.made:
            folder = tempfile.mkdtemp(prefix="e2e-pack-")
            self.addClassCleanup(shutil.rmtree, folder)
            done = self.bare(["cpack", "-G", generator, "-D", "CPACK_CMAKE_GENERATOR=Ninja", "-B", folder,
                              "--config", os.path.join(BUILD, "CPackConfig.cmake")], cwd=BUILD, timeout=400)
            self.assertEqual(done.returncode, 0, done.stderr.decode() + done.stdout.decode())
            Packages.made[generator], = glob.glob(f"{folder}/*.{generator.lower()}")
        return Packages.made[generator]

    def wheel(self):
        if "wheel" not in Packages.made:
            for module in ("pip", "wheel", "venv"):
                if self.bare([sys.executable, "-c", f"import {module}"]).returncode:
                    raise unittest.SkipTest(f"Python has no {module}")
            new = "import setuptools; assert int(setuptools.__version__.split('.')[0]) >= 61"
            if self.bare([sys.executable, "-c", new]).returncode:
                raise unittest.SkipTest("Python has no setuptools, or one before 61")
            folder = tempfile.mkdtemp(prefix="e2e-wheel-")
            self.addClassCleanup(shutil.rmtree, folder)
            done = self.bare([sys.executable, os.path.join(ROOT, "python", "make_wheel"), BUILD, folder],
                             env=self.environment(**OFFLINE), timeout=400)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            Packages.made["wheel"], = glob.glob(f"{folder}/*.whl")
        return Packages.made["wheel"]

    def venv(self, *options):
        """Its bin, with the wheel installed. BOTTLENECK must not name another program."""
        place = self.path("venv")
        for command in ([sys.executable, "-m", "venv", *options, place],
                        [f"{place}/bin/python", "-m", "pip", "install", "--quiet", self.wheel()]):
            done = self.bare(command, env=self.environment(**OFFLINE), timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        return os.path.join(place, "bin")

    def agent_works(self, binary, *before):
        """Rung 3 needs the agent, so the agent was found."""
        report = self.path("report")
        done = self.bare([*before, NO_PERF, binary, "-R", report, "--", target("shares")])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report, encoding="utf-8") as file:
            self.assertIn("hot_a", file.read())

    def check_root(self, root):
        self.agent_works(os.path.join(root, "usr/bin/bottleneck"))
        for page in ("man1/bottleneck.1", "man7/bottleneck-install.7"):
            self.assertTrue(os.path.exists(os.path.join(root, "usr/share/man", page)), page)
        self.assertEqual({name for name in os.listdir(root) if name not in ("var", "etc", "tmp")}, {"usr"},
                         "it puts files nowhere else")

    def test_a_debian_package_depends_on_libraries(self):
        need("dpkg", "dpkg-shlibdeps")
        package, root = self.pack("DEB"), self.make_directory("root")
        control = self.bare(["dpkg", "-I", package]).stdout.decode()
        for library in ("libdw1", "libsqlite3-0", "libunwind8"):
            self.assertIn(library, re.search(r"Depends: (.*)", control)[1])
        self.assertEqual(self.bare(["dpkg", "-x", package, root]).returncode, 0)
        self.assertEqual(os.listdir(f"{root}/usr/lib/bottleneck"), ["libbottleneck-agent.so"])
        self.check_root(root)

    def test_an_rpm_carries_its_libraries(self):
        need("rpmbuild", "rpm2cpio", "cpio")
        package, root = self.pack("RPM"), self.make_directory("root")
        done = self.bare(["sh", "-c", 'rpm2cpio "$0" | cpio -idm --quiet', package], cwd=root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(glob.glob(f"{root}/usr/lib*/bottleneck/libdw.so.1"))
        self.check_root(root)
        needs = self.bare(["rpm", "-qpR", package]).stdout.decode()
        self.assertIn("glibc >= 2.34", needs)

    def test_rpmlint_has_nothing_against_the_rpm(self):
        need("rpmbuild", "rpmlint")
        done = self.bare(["rpmlint", self.pack("RPM")])
        errors = [line.split(": E: ")[1] for line in done.stdout.decode().splitlines() if ": E: " in line]
        # Who publishes a package signs it. What nobody calls in util-linux' library is not ours to change.
        known = r"no-signature|missing-call-to-setgroups-before-setuid /usr/lib\w*/bottleneck/libsmartcols"
        self.assertEqual([error for error in errors if not re.match(known, error)], [])

    def test_a_wheel_names_the_c_library_that_it_needs(self):
        need("objdump")
        name = os.path.basename(self.wheel())
        glibc = re.fullmatch(r"bottleneck_profiler-[\d.]+-py3-none-manylinux_2_(\d+)_x86_64\.whl", name)
        self.assertTrue(glibc, name)
        place = self.make_directory("unpacked")
        with zipfile.ZipFile(self.wheel()) as archive:
            archive.extractall(place)
        elves = glob.glob(f"{place}/**/*.so*", recursive=True) + glob.glob(f"{place}/**/bin/bottleneck",
                                                                             recursive=True)
        text = self.bare(["objdump", "-T", *elves]).stdout.decode()
        self.assertEqual(int(glibc[1]), max(int(n) for n in re.findall(r"GLIBC_2\.(\d+)", text)))
        names = " ".join(elves)
        for library in re.findall(r"NEEDED +(\S+)", self.bare(["objdump", "-p", *elves]).stdout.decode()):
            self.assertTrue(library in names or re.match(r"lib(c|m|pthread|dl|rt|util)\.so|ld-linux", library),
                            f"{library} is not carried")

    def test_a_wheel_works_in_a_venv(self):
        binaries = self.venv()
        python = f"{binaries}/python"
        self.agent_works(f"{binaries}/bottleneck")
        with open(os.path.join(self.work, "s.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nprint(sys.argv)\nsys.exit(sum(range(9000000)) % 2 + 3)\n")
        for top in (["--top=3"], ["--top", "3"]):
            done = self.bare([python, "-m", "bottleneck_profiler", "-o", "p.bneck", *top, "s.py", "-x"])
            self.assertEqual((done.returncode, done.stdout), (3, b"['s.py', '-x']\n"), done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.work, "p.bneck")))
        done = self.bare([python, "-m", "bottleneck_profiler", "-q", "-c", "print(7)"])
        self.assertEqual((done.returncode, done.stdout), (0, b"7\n"), done.stderr)
        self.assertEqual(self.bare([python, "-m", "bottleneck_profiler", "-q"]).returncode, 2)
        if shutil.which("man"):
            done = self.bare(["man", "-w", "bottleneck-waits"],
                             env=self.environment(PATH=f"{binaries}:{os.environ['PATH']}"))
            self.assertIn(self.path("venv").encode(), done.stdout)

    def test_the_modules_alone_find_the_installed_program(self):
        prefix = self.path("prefix")
        done = self.bare(["cmake", "--install", BUILD, "--prefix", prefix])
        self.assertEqual(done.returncode, 0, done.stderr)
        environment = self.environment(PYTHONPATH=f"{prefix}/share/bottleneck/python", PATH="/usr/bin:/bin")
        done = self.bare([sys.executable, "-m", "bottleneck_profiler", "-q", "-c", "print(7)"],
                         env=environment)
        self.assertEqual((done.returncode, done.stdout), (0, b"7\n"), done.stderr)

    def test_a_program_that_is_nowhere_is_reported(self):
        environment = self.environment(PYTHONPATH=os.path.join(ROOT, "python"), PATH=self.work)
        done = self.bare([sys.executable, "-m", "bottleneck_profiler", "-c", "print(7)"], env=environment)
        self.assertEqual((done.returncode, done.stdout), (127, b""))
        self.assertIn(b"neither in this package nor in the PATH", done.stderr)

    def pytest(self, binaries, *options):
        done = self.bare([f"{binaries}/python", "-m", "pytest", "-p", "no:cacheprovider", *options],
                         env=self.environment(PYTEST_ADDOPTS=None), timeout=300)
        return done.returncode, done.stdout.decode()

    def test_pytest_profiles_slow_tests(self):
        if self.bare([sys.executable, "-c", "import pytest"]).returncode:
            raise unittest.SkipTest("Python has no pytest")
        binaries = self.venv("--system-site-packages")
        with open(os.path.join(self.work, "test_slow.py"), "w", encoding="utf-8") as file:
            file.write(SLOW_TESTS)
        status, text = self.pytest(binaries)
        self.assertEqual(status, 1)
        self.assertNotIn("bottleneck:", text)
        status, text = self.pytest(binaries, "--bottleneck", "--bottleneck-slow=0.25", "--junit-xml=j.xml")
        self.assertEqual(status, 1, "a test fails")
        self.assertRegex(text, r"\d\.\d\d s +test_slow\.py::test_waits\[2\]\n +Sleeping: (9\d|100) % [^\n]*"
                         r"test_waits \(test_slow\.py:9\)")
        self.assertRegex(text, r"\d\.\d\d s +test_slow\.py::test_waits\[1\]")
        self.assertNotRegex(text, r" s +test_slow\.py::test_(fails|fast)")
        self.assertEqual(sorted(os.listdir(os.path.join(self.work, "bottleneck-profiles"))),
                         ["test_slow.py-test_waits-1.bneck", "test_slow.py-test_waits-2.bneck"])
        with open(os.path.join(self.work, "j.xml"), encoding="utf-8") as file:
            self.assertEqual(file.read().count("<testcase"), 4, "that of the whole session")
        for gate, expected in (("IO-SLEEP", 1), ("CPU-REGEX", 0)):
            status, text = self.pytest(binaries, "--bottleneck", "kept", "--bottleneck-slow", "0.5",
                                       "--bottleneck-fail-on", gate, "-k", "waits")
            self.assertEqual((status, "FAILED: a finding of IO-SLEEP" in text), (expected, bool(expected)),
                             text)
        self.assertEqual(os.listdir(os.path.join(self.work, "kept")), ["test_slow.py-test_waits-2.bneck"])

    def test_a_cell_shows_its_page(self):
        script = ("import sys, types\nshown = []\nfake = types.ModuleType('IPython.display')\n"
                  "fake.display = shown.append\n"
                  "sys.modules['IPython'] = types.ModuleType('IPython')\nsys.modules['IPython.display'] = fake\n"
                  "from bottleneck_profiler import notebook\n"
                  "notebook.run_cell(None, '--export=html', 'import time; time.sleep(0.1)')\n"
                  "page = shown[0]._repr_html_()\n"
                  "print('frames', page.count('<iframe'), '&lt;html' in page)\n")
        done = self.bare([sys.executable, "-c", script],
                         env=self.environment(PYTHONPATH=os.path.join(ROOT, "python"), BOTTLENECK=BOTTLENECK))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"frames 1 True", done.stdout)

    def test_the_page_names_what_readme_names(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            wanted = re.search(r"apt-get install -y (cmake [^&]*) &&", file.read())[1]
        self.assertEqual(re.search(r"apt-get install -y (cmake .*)", page)[1], wanted)

    def test_a_container_of_any_user_fills_the_volume(self):
        with open(PAGE, encoding="utf-8") as file:
            command = json.loads(re.search(r'command: (\["cp".*\])', file.read())[1])
        image, volume = self.path("image"), self.path("volume")
        for folder, mode in ((os.path.join(image, "bin"), 0o755), (volume, 0o777), (self.work, 0o755)):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, mode)
        os.symlink("bin", os.path.join(image, "link"))
        done = self.bare([*unprivileged(), command[0], *(
            {"/opt/bottleneck/.": f"{image}/.", "/bottleneck/": f"{volume}/"}.get(word, word)
            for word in command[1:])])
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(sorted(os.listdir(volume)), ["bin", "link"])
        self.assertTrue(os.path.islink(os.path.join(volume, "link")))


if __name__ == "__main__":
    main()
