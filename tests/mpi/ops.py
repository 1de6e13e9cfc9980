# SPDX-License-Identifier: MIT
"""Calls of MPI as ops: names, bytes, peers; arguments and results as without us.

ctest sets OP_REPORT and PROGRAMS. The library is tests/mpi/fake_mpi.c.
"""
import os
import re
import subprocess
import unittest

OP_REPORT = os.environ["OP_REPORT"]
PROGRAMS = os.environ["PROGRAMS"]
MASK = str(1 << 11)
TIMEOUT = 120
NONE, TO, FROM, ROOT, TO_FROM = range(5)
ANY, NOBODY = 2**32 - 1, 2**32 - 2

MESSAGES = [
    ("MPI_Init", None),
    ("MPI_Send", (40, TO, 2)),
    ("MPI_Send", (0, TO, 2)),
    ("MPI_Send", (0, TO, NOBODY)),
    ("MPI_Send", (-1, TO, 2)),
    ("MPI_Send", (-1, TO, 2)),
    ("MPI_Send", (8 << 32, TO, 3)),
    ("MPI_Recv", (56, FROM, ANY)),
    ("MPI_Irecv", (48, FROM, 0)),
    ("MPI_Waitall", None),
    ("MPI_Sendrecv", (32, TO_FROM, 0, 0, 2)),
    ("MPI_Sendrecv", (8, TO_FROM, 0, 0, NOBODY)),
    ("MPI_Sendrecv_replace", (40, TO_FROM, 3, 0, 2)),
    ("MPI_Put", (36, TO, 3)),
    ("MPI_Finalize", None),
]
COLLECTIVES = [
    ("MPI_Init", None),
    ("MPI_Barrier", (-1, NONE, 0, 4)),
    ("MPI_Barrier", (-1, NONE, 0, 2)),
    ("MPI_Barrier", None),
    ("MPI_Barrier", None),
    ("MPI_Bcast", (32, ROOT, 0, 4)),
    ("MPI_Bcast", (32, NONE, NOBODY)),
    ("MPI_Allreduce", (24, NONE, 0, 4)),
    ("MPI_Gather", (20, ROOT, 0, 4)),
    ("MPI_Gather", (80, ROOT, 1, 4)),
    ("MPI_Gatherv", (20, ROOT, 0, 4)),
    ("MPI_Gatherv", (40, ROOT, 1, 4)),
    ("MPI_Scatter", (24, ROOT, 0, 4)),
    ("MPI_Scatter", (48, ROOT, 0, 2)),
    ("MPI_Scatterv", (24, ROOT, 0, 4)),
    ("MPI_Scatterv", (80, ROOT, 1, 4)),
    ("MPI_Allgather", (64, NONE, 0, 4)),
    ("MPI_Allgather", None),
    ("MPI_Alltoallv", (40, NONE, 0, 4)),
    ("MPI_Alltoallw", (40, NONE, 0, 4)),
    ("MPI_Finalize", None),
]


def words(message):
    """As base/message.h has it."""
    if message is None:
        return None
    size, way, peer, *rest = message
    return ",".join(map(str, [size, way << 32 | peer, *rest]))


def wanted(messages):
    return [(name, words(message)) for name, message in messages]


class Cases:
    """STYLE: which of the two libraries."""
    style = ""

    def program(self, name):
        return os.path.join(PROGRAMS, f"mpi_{name}_{self.style}")

    def library(self, name):
        return os.path.join(PROGRAMS, f"libmpi_{name}_{self.style}.so")

    def ops(self, *command, **environment):
        """What begins, in order, of a COMMAND that says the same as without us."""
        environment = {**os.environ, **environment}
        plain = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT,
                               check=True, env=environment)
        done = subprocess.run([OP_REPORT, "-g", "-o", MASK, "--", *command], capture_output=True,
                              text=True, timeout=TIMEOUT, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.fullmatch(r"(.*?)(op_report: [^\n]*\n)", done.stderr, re.S)[1]
        self.assertEqual(said, plain.stdout)
        self.assertNotIn("is none", said)
        self.said = said
        begun = [re.match(r"p\d+ t\d+ begin +mpi (\S+)(?: message ([-\d,]+))? depth 0", line)
                 for line in done.stdout.splitlines() if " begin " in line]
        self.assertNotIn(None, begun, done.stdout)
        self.assertEqual(len(begun), done.stdout.count(" end "))
        return [(m[1], m[2]) for m in begun]

    def test_messages(self):
        self.assertEqual(self.ops(self.program("target"), "messages"), wanted(MESSAGES))
        self.assertIn("17 errno 42\n", self.said)
        self.assertIn("put 9 to 3 at 77, 9, request\n", self.said)

    def test_collectives(self):
        self.assertEqual(self.ops(self.program("target"), "collectives"), wanted(COLLECTIVES))

    def test_fortran(self):
        self.assertEqual(self.ops(self.program("target"), "fortran"), wanted([
            ("MPI_Init", None),
            ("MPI_Send", (32, TO, 2)),
            ("MPI_Gatherv", (32, ROOT, 2, 4)),
            ("MPI_Gatherv", (80, ROOT, 1, 4)),
            ("MPI_Finalize", None)]))

    def test_a_tool_in_front_of_the_library_keeps_working(self):
        # A sanitized op_report has the tool in front of it, too.
        found = self.ops(self.program("target"), "messages", LD_PRELOAD=self.library("tool"),
                         ASAN_OPTIONS="verify_asan_link_order=0")
        self.assertEqual(found, wanted(MESSAGES))
        self.assertIn("tool: 5 sent\n", self.said)

    def test_a_tool_in_the_program_does_too(self):
        found = self.ops(self.program("with_tool"), "messages")
        self.assertEqual(found, wanted(MESSAGES))
        self.assertIn("tool: 5 sent\n", self.said)

    def test_a_library_that_is_asked_by_name(self):
        found = self.ops(self.program("by_name"), self.library("fake"))
        self.assertEqual(found, [("MPI_Send", words((24, TO, 2)))])
        self.assertTrue(self.said.startswith("0 0 0\n"), self.said)

    def test_nothing_is_told_where_nobody_asks(self):
        done = subprocess.run([OP_REPORT, "-g", "-o", "8", "--", self.program("target"),
                               "messages"], capture_output=True, text=True, timeout=TIMEOUT,
                              check=True)
        self.assertNotIn(" begin ", done.stdout)


class Pointers(Cases, unittest.TestCase):
    """Handles as in Open MPI."""
    style = "pointers"


class Ints(Cases, unittest.TestCase):
    """Handles as in MPICH."""
    style = "ints"


if __name__ == "__main__":
    unittest.main(verbosity=2)
