# SPDX-License-Identifier: MIT
"""The worked examples of bottleneck-batch(5), letter by letter: by cron's shell, as a job of a CI
service, in Slurm (whose sbatch and srun are imitated, with the variables that they set), by a real
mpirun and a real torchrun, where these are installed. TORCH_PYTHON names a Python with torch.
"""
import glob
import json
import os
import re
import shutil
import xml.etree.ElementTree

from harness import BOTTLENECK, MPIRUN, Case, main, need

MANUAL = os.path.join(os.path.dirname(__file__), "..", "..", "man", "bottleneck-batch.5")
RANKS = 4

SOLVER = """#!/bin/sh
# Work, and the rank that does it.
test -z "$RESULTS" || echo "$*" >>"$RESULTS/${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-none}}"
i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
test ! -e broken
"""
SBATCH = """#!/bin/sh
export SLURM_JOB_ID=17 SLURM_NNODES=4 SLURM_NTASKS=%d SLURM_SUBMIT_DIR=$PWD
exec sh "$1"
""" % RANKS
SRUN = """#!/bin/sh
status=0 pids=
for rank in $(seq 0 $((SLURM_NTASKS - 1))); do
	SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_NODEID=0 SLURM_STEP_ID=0 \\
		SLURM_NPROCS=$SLURM_NTASKS SLURM_STEP_NUM_TASKS=$SLURM_NTASKS "$@" &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || status=$?
done
exit $status
"""
TORCHRUN = """#!/bin/sh
exec %s -m torch.distributed.run "$@"
"""
TRAIN = """
import os
import time
import torch.distributed as dist

dist.init_process_group("gloo")
end = time.process_time() + 0.1
while time.process_time() < end:
    sum(range(1000))
dist.barrier()
print("trained", dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
"""


def examples():
    """{heading: [text of each display]}"""
    with open(MANUAL, encoding="utf-8") as file:
        page = file.read().split(".Sh EXAMPLES\n")[1].split(".Sh SEE ALSO")[0]
    parts = re.split(r"^\.Ss (.*)$", page, flags=re.M)[1:]
    return {heading: [display.replace("\\e", "\\") for display in
                      re.findall(r"^\.Bd .*\n((?:.*\n)*?)\.Ed$", text, re.M)]
            for heading, text in zip(parts[::2], parts[1::2])}


EXAMPLES = examples()


def file_of(heading, name, number=0):
    """What stands below "# NAME" in a display, up to the next such line."""
    text = EXAMPLES[heading][number]
    return re.search(rf"^# {re.escape(name)}.*\n((?:(?!# ).*\n)*)", text, re.M)[1]


class Examples(Case):
    def setUp(self):
        super().setUp()
        need("sh")
        self.tools = self.make_directory("tools")
        os.symlink(os.path.realpath(BOTTLENECK), os.path.join(self.tools, "bottleneck"))
        self.write("solver", SOLVER)

    def write(self, name, text, directory=None):
        place = os.path.join(directory or self.work, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(place, 0o755)
        return place

    def shell(self, command, **extra):
        path = f"{self.tools}:{extra.pop('PATH', os.environ['PATH'])}"
        return self.bare(["/bin/sh", "-c", command],
                         env=self.environment(PATH=path, HOME=self.directory, **extra))

    def in_work(self, pattern):
        return sorted(os.path.relpath(place, self.work)
                      for place in glob.glob(os.path.join(self.work, pattern)))

    def check_ranks(self, pattern, count=RANKS):
        """Profiles of all ranks, which merge."""
        files = self.in_work(pattern)
        self.assertEqual(len(files), count, (files, os.listdir(self.work)))
        merged = self.path("all.bneck")
        done = self.verb("merge", "-o", merged, *files, cwd=self.work)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.verb("report", merged).stdout.decode()
        self.assertRegex(text, rf"(?m)^ranks +{count} on ")


class Cron(Examples):
    def night(self):
        line = EXAMPLES["Each night, by cron"][0].splitlines()[-1]
        fields = line.split(None, 5)
        self.assertEqual(len(fields), 6, line)
        # A % that nothing stands before is the end of the line for cron.
        self.assertNotRegex(fields[5], r"(?<!\\)%")
        return self.shell(f"cd {self.directory}; " + fields[5].replace("\\%", "%"),
                          PATH="/usr/bin:/bin")

    def test_it_is_silent_unless_something_fails(self):
        place = os.path.join(self.directory, "solver")
        self.write("solver", SOLVER, place)
        self.write("nightly.conf", "[solve]\ncommand = ./solver\n", place)
        done = self.night()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        day = [name for name in os.listdir(place) if name.startswith("run-")]
        self.assertEqual(len(day), 1)
        self.assertRegex(day[0], r"^run-\d{4}-\d\d-\d\d$")
        self.assertTrue(glob.glob(os.path.join(place, day[0], "*.bneck")))
        shutil.rmtree(os.path.join(place, day[0]))
        self.write("broken", "", place)
        done = self.night()
        self.assertIn(b"solve", done.stdout)


class Ci(Examples):
    def test_gates_decide_and_tests_are_told_of(self):
        heading = "A job of a CI service"
        self.write("perf.conf", file_of(heading, "perf.conf"))
        self.write("build/parse", SOLVER)
        script = file_of(heading, "the job's script")
        done = self.shell(script)
        self.assertIn(done.returncode, (0, 90, 92), done.stderr)
        tests = xml.etree.ElementTree.parse(os.path.join(self.work, "perf.xml")).getroot()
        self.assertEqual([case.get("name") for case in tests.iter("testcase")], ["parse"])
        with open(os.path.join(self.work, "perf.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["commands"]), 1)
        self.assertTrue(self.in_work("perf/*.bneck"))
        self.write("broken", "")
        shutil.rmtree(os.path.join(self.work, "perf"))
        self.assertEqual(self.shell(script).returncode, 1)


class Slurm(Examples):
    def setUp(self):
        super().setUp()
        need("seq")
        self.write("sbatch", SBATCH, self.tools)
        self.write("srun", SRUN, self.tools)
        script, steps = EXAMPLES["Slurm"][0].split("# steps.conf", 1)
        self.write("job.sh", script)
        self.write("steps.conf", steps.split("\n", 1)[1])
        self.results = self.make_directory("results")

    def ran(self):
        """{rank: what the solver was started with}"""
        told = {}
        for rank in os.listdir(self.results):
            with open(os.path.join(self.results, rank), encoding="utf-8") as file:
                told[rank] = file.read().splitlines()
        return told

    def test_each_rank_of_a_step_has_a_profile(self):
        done = self.shell("sbatch job.sh", RESULTS=self.results)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.ran(), {str(rank): ["--weak", ""] for rank in range(RANKS)})
        self.check_ranks("runs/weak.*.bneck")
        self.check_ranks("runs/strong.*.bneck")

    def test_the_same_script_goes_on_with_what_has_not_passed(self):
        self.write("broken", "")
        self.assertNotEqual(self.shell("sbatch job.sh", RESULTS=self.results).returncode, 0)
        os.unlink(os.path.join(self.work, "broken"))
        done = self.shell("sbatch job.sh; sbatch job.sh", RESULTS=self.results)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in self.ran().values():
            # Once passed, a step is not run again.
            self.assertLessEqual(len(words), 4)
            self.assertIn("--weak", words)
            self.assertIn("", words)

    def test_some_ranks_alone(self):
        line = EXAMPLES["Slurm"][1].strip()
        line = line.replace("0,8,16,24", "0,2")
        done = self.shell(line, SLURM_NTASKS=str(RANKS), RESULTS=self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.ran()), RANKS)
        self.assertEqual(self.in_work("run.*.bneck"), ["run.0.bneck", "run.2.bneck"])


class Mpirun(Examples):
    def test_each_rank_has_a_profile(self):
        need("mpirun")
        self.write("mpi.conf", EXAMPLES["mpirun"][0])
        results = self.make_directory("results")
        done = self.shell("bottleneck batch -o runs mpi.conf", RESULTS=results, **MPIRUN)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(set(os.listdir(results)), {str(rank) for rank in range(4)})
        self.check_ranks("four.*.bneck")
        done = self.shell(EXAMPLES["mpirun"][1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"(?m)^ranks +4 on ")


class Torchrun(Examples):
    def test_each_rank_has_a_profile(self):
        python = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
        self.write("torchrun", TORCHRUN % python, self.tools)
        # Torch 1.13's launcher does not start anything in Python 3.11.
        if self.shell("torchrun --nproc_per_node 1 --no_python true").returncode:
            self.skipTest(f"torchrun of {python} starts nothing")
        self.write("python3", f'#!/bin/sh\nexec {python} "$@"\n', self.tools)
        self.write("train.py", TRAIN)
        self.write("ddp.conf", EXAMPLES["torchrun"][0])
        done = self.shell("bottleneck batch -o runs ddp.conf")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_ranks("ddp.*.bneck")


if __name__ == "__main__":
    main()
