# SPDX-License-Identifier: MIT
"""The packages that a build needs: those that README names are those that tests/setup installs, and
CMake names those that are missing."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ONLY_TESTS = {"libcriterion-dev", "python3"}


def installed_by(path):
    """The packages of each command of a page."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as page:
        commands = re.findall(r"apt-get install -y (cmake [^&\n]*)", page.read())
    return [set(command.split()) for command in commands]


class Building(unittest.TestCase):
    def test_all_pages_install_what_tests_setup_needs(self):
        with open(os.path.join(ROOT, "tests", "setup"), encoding="utf-8") as script:
            required = re.search(r"^required=\((.*?)^\)", script.read(), re.M | re.S).group(1)
        required = set(re.sub("#.*", "", required).split())
        for page in ("README.md", "man/bottleneck-install.7", "man/bottleneck-ci.7"):
            commands = installed_by(page)
            self.assertTrue(commands, page)
            for packages in commands:
                self.assertEqual(packages, required - ONLY_TESTS, page)

    def test_cmake_names_all_packages_that_are_missing(self):
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run(
                ["cmake", "-S", ROOT, "-B", build, "-DBUILD_TESTING=OFF", f"-DCMAKE_FIND_ROOT_PATH={build}",
                 "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY"],
                env={**os.environ, "PKG_CONFIG_LIBDIR": build, "PKG_CONFIG_PATH": ""},
                capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        hint = re.search(r"hint: .*: apt install (.*)", done.stderr)
        self.assertTrue(hint, done.stderr)
        (readme,) = installed_by("README.md")
        tools = {"cmake", "gcc", "g++", "make", "pkg-config", "libzydis-dev"}
        self.assertEqual(set(hint.group(1).split()), readme - tools)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
