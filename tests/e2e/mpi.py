# SPDX-License-Identifier: MIT
"""MPI under Open MPI: calls as ops with their bytes and peers, and the ranks of a job beside each other."""
import json
import os
import subprocess
import sys

from harness import BOTTLENECK, MPIRUN, Case, main, need

OP_ROWS = os.environ.get("OP_ROWS", "build/tests/op_rows")
RANKS = 4

# Says of itself how often it calls what, as rank 1 sees it.
MESSAGES = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, given;
    static double a[1000], b[4000];
    MPI_Request requests[2];
    MPI_Comm half;
    MPI_Datatype pair;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < 50; i++) {
        MPI_Sendrecv(a, 100, MPI_DOUBLE, next, 1, b, 100, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Irecv(b, 500, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(a, 10, pair, next, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, a, 3, MPI_DOUBLE, MPI_MAX, half);
        MPI_Bcast(a, 7, MPI_FLOAT, 2, MPI_COMM_WORLD);
        MPI_Gather(a, 5, MPI_DOUBLE, b, 5, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Send(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    return MPI_Finalize();
}
"""
OF_RANK_1 = {
    ("MPI_Init_thread", ""): 1,
    ("MPI_Comm_split", "4 ranks"): 1,
    ("MPI_Sendrecv", "1600 B to 2 from 0"): 50,
    ("MPI_Irecv", "2000 B from any"): 50,
    ("MPI_Isend", "160 B to 2"): 50,
    ("MPI_Waitall", ""): 50,
    ("MPI_Allreduce", "24 B, 2 ranks"): 50,
    ("MPI_Bcast", "28 B, root 2 of 4"): 50,
    ("MPI_Gather", "160 B, root 1 of 4"): 50,
    ("MPI_Barrier", "4 ranks"): 50,
    ("MPI_Send", "0 B to nobody"): 1,
    ("MPI_Finalize", ""): 1,
}

FORTRAN = """
program ring
{use}
implicit none
integer :: rank, n, i, e
double precision :: a(1000), b(1000)
call MPI_Init(e)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
call MPI_Comm_size(MPI_COMM_WORLD, n, e)
do i = 1, 20
  call MPI_Sendrecv(a, 1000, MPI_DOUBLE_PRECISION, mod(rank+1,n), 1, &
    b, 1000, MPI_DOUBLE_PRECISION, mod(rank+n-1,n), 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, e)
  call MPI_Allreduce(MPI_IN_PLACE, a, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
end do
call MPI_Finalize(e)
end program
"""


class Mpi(Case):
    def environment(self, **extra):
        return super().environment(**MPIRUN, **extra)

    def build(self, source, compiler="mpicc", name="app.c", flags=()):
        need(compiler, "mpirun")
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(source)
        program = self.path("app")
        done = self.bare([compiler, "-g", "-O1", *flags, "-o", program, self.path(name)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def ranks(self, program, *options, count=RANKS):
        """One profile a rank; those of the ranks, in order."""
        done = self.bare(["mpirun", "-n", str(count), BOTTLENECK, "--no-report",
                          "-o", self.path("run.%r.bneck"), *options, program])
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return [self.path(f"run.{rank}.bneck") for rank in range(count)]

    @staticmethod
    def shapes(profile):
        """{(op, what it was done on): calls} of MPI."""
        lines = subprocess.run([OP_ROWS, "-s", profile], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        rows = [line.split("\t") for line in lines]
        return {(row[1], row[2]): int(row[3]) for row in rows if row[0] == "mpi"}


class Ops(Mpi):
    def test_calls_bytes_and_peers(self):
        profiles = self.ranks(self.build(MESSAGES))
        self.assertEqual(self.shapes(profiles[1]), OF_RANK_1)
        gather = {("MPI_Gather", "40 B, root 1 of 4"): 50}
        self.assertLessEqual(gather.items(), self.shapes(profiles[3]).items())
        report = self.verb("report", "--ops", "--width", "200", profiles[1]).stdout.decode()
        self.assertRegex(report, r" 78 KB +mpi +MPI_Sendrecv +app\.c:19\n")

    def test_without_them(self):
        profiles = self.ranks(self.build(MESSAGES), "--no-mpi")
        self.assertEqual(self.shapes(profiles[1]), {})

    def test_fortran(self):
        need("gfortran")
        for use in ("use mpi", "use mpi_f08"):
            program = self.build(FORTRAN.format(use=use), "mpifort", "app.f90")
            rows = self.shapes(self.ranks(program, count=1)[0])
            self.assertEqual(rows, {("MPI_Init", ""): 1, ("MPI_Finalize", ""): 1,
                                    ("MPI_Sendrecv", "16000 B to 0 from 0"): 20,
                                    ("MPI_Allreduce", "8000 B, 1 rank"): 20})
            report = self.verb("report", "--ops", self.path("run.0.bneck")).stdout.decode()
            self.assertRegex(report, r"MPI_Allreduce +app\.f90:13\n")


# The last rank computes sixteen times as long as the others.
LATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "priced", "ranks.c")


class OneProfile(Mpi):
    def test_ranks_wait_for_the_one_that_works(self):
        """Who polls in a call of MPI does not work: wall time is the straggler's."""
        program = self.build_straggler()
        for draw in range(3):  # ranks share fewer CPUs with others
            result = self.profile_run(["mpirun", "-n", "3", program])
            self.assertEqual(result.status, 0, result.err)
            told = json.loads(self.verb("report", "--json", result.profile).stdout)
            waits = [row for row in told["wall"]["waits"] if row["resource"] == "MPI call"]
            by = {}
            for row in waits:
                by[row["holder"]] = by.get(row["holder"], 0) + row["total_ns"]
            facts = [f["fact"] for f in told["findings"] if f["id"] == "MPI-TIME"]
            if 2 * by.get("planted_work", 0) > sum(by.values()) and facts:
                break
        self.assertGreater(2 * by.get("planted_work", 0), sum(by.values()), waits)
        self.assertIn("for rank 2, which is in planted_work (straggler.c:", facts[0])
        self.assertIn("rank 2", told["verdict"]["sentence"])
        titles = self.verb("report", "--by", "process", result.profile).stdout.decode()
        for rank in range(3):
            self.assertIn(f"straggler [rank {rank}]", titles)

    def test_the_late_rank_is_named_where_ranks_wait_for_cpus(self):
        """Who waits for a CPU seems to be waited for as well; who waits in MPI least is late."""
        with open(LATE, encoding="utf-8") as file:
            program = self.build(file.read(), flags=("-DSTEPS=20", "-DCELLS=500000"))
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(os.cpu_count() or 2)]
        try:
            for _ in range(2):
                result = self.profile_run(["mpirun", "--mca", "mpi_yield_when_idle", "1", "-n", "4", program])
                told = json.loads(self.verb("report", "--json", result.profile).stdout)
                facts = [f["fact"] for f in told["findings"] if f["id"] == "MPI-TIME"]
                self.assertRegex(" ".join(facts), r"(for rank 3\b|^$)")
        finally:
            for loop in busy:
                loop.kill()
                loop.wait()


class Ranks(Mpi):
    """Rank 2 works four times as long as the others, but for one step, in which rank 3 does."""

    def merge(self):
        profiles = self.ranks(self.build_straggler("-DRANK_3_IN=6"))
        done = self.verb("merge", "-o", self.path("all.bneck"), *profiles)
        self.assertEqual(done.returncode, 0, done.stderr)
        return profiles

    def told(self, path="all.bneck"):
        return json.loads(self.verb("report", "--json", self.path(path)).stdout)

    def test_who_is_waited_for(self):
        # Where four ranks share fewer CPUs with others, who comes last may be who had none.
        for draw in range(3):
            self.merge()
            told = self.told()
            ranks = told["ranks"]
            late = {row["rank"]: row["last"] for row in ranks["rows"]}
            first = told["findings"][0]["id"]
            if late[2] >= 7 and late[3] >= 1 and first != "CPU-OVERSUB":
                break
        self.assertEqual(ranks["meetings"], 10)
        self.assertGreaterEqual(late[2], 7, ranks)
        self.assertEqual(ranks["straggler"]["rank"], 2)
        self.assertEqual(ranks["straggler"]["function"], "planted_work")
        self.assertEqual(ranks["rows"][0]["rank"], 2)
        # All clocks are one.
        self.assertEqual([row["ahead_ns"] is None for row in ranks["rows"]].count(True), 1)
        self.assertEqual(sum(late.values()), 10)
        skew = [f for f in told["findings"] if f["id"] == "RANK-SKEW"]
        self.assertIn("rank 2 works", skew[0]["fact"])
        # What ranks are in MPI is to wait for that one, which is no cause of its own.
        causes = [f["id"] for f in told["findings"] if f["id"] != "CPU-OVERSUB"]
        self.assertEqual(causes[0], "RANK-SKEW")
        report = self.verb("report", self.path("all.bneck")).stdout.decode()
        self.assertIn("imbalance by step", report)
        self.assertIn("10 collective operations", " ".join(report.split()))
        # Its wall time is that of the one which comes last.
        sentence = " ".join(report[report.index("exit 0"):].split("\n\n")[0].split())
        if first != "CPU-OVERSUB" or len(os.sched_getaffinity(0)) >= RANKS:
            self.assertRegex(sentence, r"planted_work \(\w+\.c:\d+\)")
        self.assertIn("planted_work (", skew[0]["fact"])
        self.assertGreater(skew[0]["line"], 0)
        wall = told["wall"]
        self.assertEqual(wall["whose"], "of rank 2, which the others wait for")
        # Others may have the CPUs longer than it does.
        owners = [row for row in wall["owners"] if row["kind"] != "contention"]
        self.assertEqual(owners[0]["name"], "planted_work")
        self.assertLessEqual(abs(sum(row["wall_ns"] for row in wall["owners"])
                                 - wall["wall_ns"]), 1000)
        self.assertIn("of rank 2, which the others wait for", report)
        self.assertIn("of rank 2, which the others wait for", self.page("all.bneck"))

    def page(self, name):
        done = self.verb("report", "--export", f"html={self.path('page.html')}", self.path(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("page.html"), encoding="utf-8") as file:
            return file.read()

    def test_sums_of_calls(self):
        profiles = self.merge()
        one = self.shapes(profiles[0])
        self.assertEqual(one[("MPI_Allreduce", "8 B, 4 ranks")], 10)
        self.assertEqual(self.shapes(self.path("all.bneck")),
                         {key: 4 * calls for key, calls in one.items()})


if __name__ == "__main__":
    main()
