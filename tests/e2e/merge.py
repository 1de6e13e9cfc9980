# SPDX-License-Identifier: MIT
"""bottleneck merge: ranks into one profile, sums as of the parts, the planted straggler named."""
import os
import re
import shutil
import socket
import sqlite3

from harness import BOTTLENECK, Case, main, need, target

PROGRAM = r"""
#include <mpi.h>
#include <time.h>
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
__attribute__((noinline)) double shared_work(double seconds)
{
    double end = cpu() + seconds, x = 0;
    while (cpu() < end)
        for (int i = 0; i < 10000; i++)
            x += i * 0.5;
    return x;
}
__attribute__((noinline)) double planted_work(double seconds)
{
    double end = cpu() + seconds, x = 1;
    while (cpu() < end)
        for (int i = 0; i < 10000; i++)
            x *= 1.0000001;
    return x;
}
int main(int argc, char **argv)
{
    int rank;
    volatile double x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        double sum, mine;
        x += shared_work(0.03);
        if (rank == 2)
            x += planted_work(0.09);
        mine = x;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"""


class Merge(Case):
    def make(self, *names, command=None):
        paths = [self.path(f"{name}.bneck") for name in names]
        for i, path in enumerate(paths):
            done = self.bare([BOTTLENECK, "--no-report", "-o", path,
                              *(command or [target("shares")])],
                             env=self.environment(PMI_RANK=str(i), PMI_SIZE=str(len(names))))
            self.assertEqual(done.returncode, 0, done.stderr)
        return paths

    def merge(self, *arguments):
        return self.verb("merge", "-o", self.path("all.bneck"), *arguments)

    @staticmethod
    def sums(path):
        """CPU time and waiting of all functions, and samples, by name."""
        database = sqlite3.connect(path)
        columns = [row[1] for row in database.execute("PRAGMA table_info(function)")]
        found = {}
        for row in database.execute("SELECT f.*, s.text AS text FROM function f "
                                    "LEFT JOIN string s ON s.id = f.name"):
            row = dict(zip([*columns, "text"], row))
            key = row["text"] or row["label"]
            numbers = [row[c] for c in columns if c.endswith("_ns") or c.endswith("samples")]
            found[key] = [a + b for a, b in zip(found.get(key, [0] * len(numbers)), numbers)]
        return found

    def test_sums_are_those_of_the_parts(self):
        parts = self.make("a", "b", "c")
        done = self.merge(*parts)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        wanted = {}
        for part in parts:
            for name, numbers in self.sums(part).items():
                name = re.sub(r"\[jit \d+\]", "[jit]", name)
                wanted[name] = [a + b for a, b in zip(wanted.get(name, [0] * 9), numbers)]
        self.assertEqual(self.sums(self.path("all.bneck")), wanted)
        report = self.verb("report", self.path("all.bneck")).stdout.decode()
        self.assertIn("3 on 1 host", report)
        self.assertIn("3 profiles of", report)
        # Of the first, of each, and of all.
        one = self.verb("report", "--process", "shares [rank 1]", self.path("all.bneck"))
        self.assertIn(b"shares [rank 1]", one.stdout)
        self.assertNotIn(b"ranks  3", one.stdout)

    def test_one_profile_stays_what_it_is(self):
        part, = self.make("one")
        self.assertEqual(self.merge(part).returncode, 0)
        self.assertEqual(self.sums(self.path("all.bneck")), self.sums(part))
        # Once more, of what is merged, and over itself.
        again = self.verb("merge", "-o", self.path("all.bneck"), self.path("all.bneck"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.sums(self.path("all.bneck")), self.sums(part))

    def test_hundreds_share_rows(self):
        parts = self.make("a", "b", command=["true"])
        self.assertEqual(self.merge(*parts[:1] * 150, *parts[1:] * 150).returncode, 0)
        few, many = os.path.getsize(parts[0]), os.path.getsize(self.path("all.bneck"))
        self.assertLess(many, 8 * few)
        report = self.verb("report", self.path("all.bneck"))
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn(b"300 on 1 host", report.stdout)

    def test_what_cannot_be_read(self):
        part, = self.make("good", command=["true"])
        broken = self.path("broken.bneck")
        shutil.copy(part, broken)
        os.truncate(broken, os.path.getsize(part) // 2)
        for bad in (broken, self.path("absent.bneck")):
            done = self.merge(part, bad)
            self.assertEqual(done.returncode, 1)
            self.assert_clean_message(done, os.path.basename(bad))
            self.assertFalse(os.path.exists(self.path("all.bneck")))
        done = self.merge("-k", part, broken, self.path("absent.bneck"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"absent.bneck", done.stderr)
        self.assertIn(b"broken.bneck", done.stderr)
        os.unlink(self.path("all.bneck"))
        for arguments in ((), ("-o", self.path("x")), (part,)):
            self.assert_clean_message(self.verb("merge", *arguments))
        self.assert_clean_message(self.merge("-k", broken), "broken")

    def test_the_planted_straggler_is_named(self):
        need("mpirun", "mpicc")
        with open(self.path("mpi.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        built = self.bare(["mpicc", "-g", "-O2", "-o", self.path("mpi"), self.path("mpi.c")])
        self.assertEqual(built.returncode, 0, built.stderr)
        environment = self.environment(OMPI_ALLOW_RUN_AS_ROOT="1",
                                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = self.bare(["mpirun", "--oversubscribe", "-n", "4", BOTTLENECK, "--no-report",
                          "-o", self.path("run.%r.bneck"), self.path("mpi")], env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = [self.path(f"run.{i}.bneck") for i in range(4)]
        self.assertEqual(self.merge(*parts).returncode, 0)
        report = " ".join(self.verb("report", self.path("all.bneck")).stdout.decode().split())
        self.assertIn("ranks 4 on 1 host", report)
        self.assertRegex(report, f"rank 2 on {socket.gethostname()} holds the others up: it works "
                                 r".* of that in planted_work, and they wait")
        self.assertRegex(report, r"imbalance by function .* 2 \S+ m?s \S+ m?s planted_work")
        rows = sqlite3.connect(self.path("all.bneck")).execute(
            "SELECT rank, busy_ns, mpi_busy_ns + mpi_wait_ns FROM rank_time").fetchall()
        self.assertEqual(sorted(r[0] for r in rows), [0, 1, 2, 3])
        busy, mpi = ({r[0]: r[i] for r in rows} for i in (1, 2))
        for other in (0, 1, 3):
            self.assertGreater(busy[2], 2 * busy[other])
            self.assertLess(mpi[2], mpi[other])


if __name__ == "__main__":
    main()
