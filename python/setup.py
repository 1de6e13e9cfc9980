# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: with a program beside the modules (see make_wheel), the wheel is for
one platform, and carries manual pages."""
import glob
import os

from setuptools import Distribution, setup

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join("bottleneck_profiler", "program")


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


def _files_below(folder):
    return [os.path.relpath(os.path.join(directory, name), os.path.join(HERE, "bottleneck_profiler"))
            for directory, _, names in os.walk(os.path.join(HERE, folder)) for name in names]


def _pages():
    """[(where below the environment, [pages])]"""
    sections = sorted(glob.glob(os.path.join(HERE, "man", "man*")))
    return [("share/man/" + os.path.basename(section),
             sorted(os.path.relpath(page, HERE) for page in glob.glob(section + "/*")))
            for section in sections]


def _with_program():
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:  # before setuptools 70.1
        from wheel.bdist_wheel import bdist_wheel

    class PlatformWheel(bdist_wheel):
        """Any Python will do: the program does not depend on it."""

        def get_tag(self):
            return "py3", "none", os.environ["BOTTLENECK_PLATFORM"]

    setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel},
          package_data={"bottleneck_profiler": _files_below(PROGRAM)}, data_files=_pages())


if os.path.isdir(os.path.join(HERE, PROGRAM)):
    _with_program()
else:
    setup()
