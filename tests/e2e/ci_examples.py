# SPDX-License-Identifier: MIT
"""The jobs of bottleneck-ci(7), letter by letter, on a tiny repository: the shell of each step as
the service runs it, with stand-ins for what would leave the machine (gh, curl, apt-get, sudo) and for
cmake. Where Python has yaml, the jobs are read as YAML, too.
"""
import os
import re
import shutil

from harness import BOTTLENECK, Case, main, need

HERE = os.path.dirname(os.path.abspath(__file__))
MANUAL = os.path.join(HERE, "..", "..", "man", "bottleneck-ci.7")
README = os.path.join(HERE, "..", "..", "README.md")

# A program that is as slow as the commit says, and fails if that has a file "broken".
MAKEFILE = """all:
	mkdir -p build data
	cp parse.sh build/parse
	chmod +x build/parse
	touch data/large.json
"""
PARSE = "#!/bin/sh\ntest -e \"$1\" || exit 9\nsleep %s\ntest ! -e broken\n"
# What they are called with is in CALLS, a line each.
STAND_INS = {
    "apt-get": "", "sysctl": "", "cmake": "",
    "sudo": "exec \"$@\"\n",
    "gh": "for word; do case $word in *.md) cp \"$word\" \"$SENT\" ;; esac; done\n",
    "curl": "cat >\"$SENT.config\"\ncp short.md \"$SENT\"\n",
}


def displays():
    """{heading: text of its display}"""
    with open(MANUAL, encoding="utf-8") as file:
        page = file.read().split(".Sh EXAMPLES\n")[1].split(".Sh SEE ALSO")[0]
    parts = re.split(r"^\.Ss (.*)$", page, flags=re.M)[1:]
    return {heading: re.search(r"^\.Bd .*\n((?:.*\n)*?)\.Ed$", text, re.M)[1].replace("\\e", "\\")
            for heading, text in zip(parts[::2], parts[1::2])}


PAGE = displays()
WORKFLOW, JOB = PAGE[".github/workflows/performance.yml"], PAGE[".gitlab-ci.yml"]


def block(text, key):
    """What stands in the block below KEY, without its indentation."""
    match = re.search(rf"^( *)(?:- )?{re.escape(key)} *\|\n((?:\1  .*\n|\n)+)", text, re.M)
    lines = match[2].splitlines()
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "".join(line[depth:] + "\n" for line in lines)


def steps():
    """{name: (shell, names of its variables)} of the workflow's steps that run a shell."""
    found = {}
    for text in re.split(r"^      - ", WORKFLOW, flags=re.M)[1:]:
        if "run: |" in text:
            name = re.match(r"name: (.*)\n", text)[1]
            found[name] = block("      " + text, "run:"), re.findall(r"^          ([A-Z_]+): ", text, re.M)
    return found


class Jobs(Case):
    def setUp(self):
        super().setUp()
        need("bash", "git", "make")
        self.tools = self.make_directory("tools")
        os.symlink(os.path.realpath(BOTTLENECK), os.path.join(self.tools, "bottleneck"))
        self.calls, self.sent = self.path("calls"), self.path("sent.md")
        for name, text in STAND_INS.items():
            self.write(os.path.join(self.tools, name),
                       f"#!/bin/sh\necho {name} \"$@\" >>\"$CALLS\"\n{text}")
        self.variables = {}
        self.git("init", "-q")
        self.write("Makefile", MAKEFILE)
        self.write("perf.conf", PAGE["perf.conf"])
        self.write("ci/profile.sh", PAGE["ci/profile.sh"])
        self.base = self.commit("0.3")

    def write(self, name, text):
        place = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(place, 0o755)

    def git(self, *words):
        done = self.bare(["git", *words], env=self.with_variables())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().strip()

    def commit(self, seconds):
        self.write("parse.sh", PARSE % seconds)
        self.git("add", "-A", "Makefile", "perf.conf", "ci", "parse.sh")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def with_variables(self, **more):
        return self.environment(
            PATH=f"{self.tools}:{os.environ['PATH']}", HOME=self.directory, CALLS=self.calls,
            SENT=self.sent, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.com",
            GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@example.com", **self.variables, **more)

    def read(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8") as file:
            return file.read()

    def check_comment(self, word):
        text = self.read(self.sent)
        self.assertTrue(text.startswith("### bottleneck: "), text)
        self.assertRegex(text, rf"(?m)^\*\*{word}\*\*: ")
        self.assertEqual(os.listdir(os.path.join(self.work, "sarif")), ["parse.sarif"])


class Github(Jobs):
    def setUp(self):
        super().setUp()
        self.given = {"BOTTLENECK_SOURCE": self.work, "BASE": self.base, "GH_TOKEN": "secret",
                      "GH_REPO": "o/r", "NUMBER": "7"}
        self.variables = {"GITHUB_ENV": self.path("env"), "GITHUB_STEP_SUMMARY": self.path("summary"),
                          "RUNNER_TEMP": self.make_directory("temp")}

    def step(self, name):
        """Runs it as a runner does, with the variables that it is given and no others."""
        text, wanted = steps()[name]
        self.assertLessEqual(set(wanted), set(self.given), "a variable that nothing is known of")
        script = self.path("step.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.bare(["bash", "-e", script],
                         env=self.with_variables(**{key: self.given[key] for key in wanted}))
        if os.path.exists(self.path("env")):
            for line in self.read(self.path("env")).splitlines():
                key, value = line.split("=", 1)
                self.variables[key] = value
        return done

    def run_job(self):
        for name in list(steps())[:-1]:
            done = self.step(name)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
        return self.step("Result").returncode

    def test_it_comments_on_what_became_slower_and_fails(self):
        self.commit("1.2")
        self.assertEqual(self.run_job(), 91)
        self.check_comment("slower")
        self.assertIn("gh pr comment 7 --body-file short.md", self.read(self.calls))
        self.assertEqual(self.read(self.path("summary")), self.read(self.sent))
        self.assertIn("sysctl -w kernel.perf_event_paranoid=1", self.read(self.calls))

    def test_it_passes_where_nothing_has_changed(self):
        self.commit("0.3")
        self.assertEqual(self.run_job(), 0)
        self.check_comment("(?:same|inconclusive)")

    def test_it_fails_where_a_command_does(self):
        self.commit("0.3")
        self.write("broken", "")
        self.assertEqual(self.run_job(), 1)
        self.check_comment(".*")

    def test_a_base_that_cannot_be_built_is_not_compared_with(self):
        self.write("Makefile", "all:\n\tfalse\n")
        self.git("add", "Makefile")
        self.given["BASE"] = self.commit("0.2")
        self.write("Makefile", MAKEFILE)
        self.commit("0.3")
        self.assertEqual(self.run_job(), 0)
        self.assertNotIn("#### Compared", self.read(self.sent))

    def test_a_fork_may_not_comment(self):
        self.commit("0.3")
        self.write(os.path.join(self.tools, "gh"), "#!/bin/sh\nexit 1\n")
        self.assertEqual(self.run_job(), 0)
        self.assertIn("### bottleneck: ", self.read(self.path("summary")))

    def test_the_token_is_in_one_step_alone(self):
        with_token = [name for name, (_, variables) in steps().items() if "GH_TOKEN" in variables]
        self.assertEqual(with_token, ["Comment"])
        for text, _ in steps().values():
            self.assertNotIn("${{", text)  # what others may name is no shell

    def test_it_installs_what_the_readme_does(self):
        wanted = re.search(r"apt-get install -y ([\w. +-]+)", steps()["Install bottleneck"][0])[1]
        with open(README, encoding="utf-8") as file:
            self.assertIn(f"apt-get install -y {wanted.strip()} ", file.read())


class Gitlab(Jobs):
    def run_job(self):
        script = self.path("script.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(block(JOB[JOB.index("  script:"):], ""))
        return self.bare(["bash", "-eo", "pipefail", script], env=self.with_variables(
            CI_MERGE_REQUEST_DIFF_BASE_SHA=self.base, CI_API_V4_URL="https://gitlab.example/api/v4",
            CI_PROJECT_ID="12", CI_MERGE_REQUEST_IID="34", BOTTLENECK_TOKEN="secret"))

    def test_it_comments_and_keeps_its_token(self):
        self.commit("1.2")
        done = self.run_job()
        self.assertEqual(done.returncode, 91, done.stdout + done.stderr)
        self.check_comment("slower")
        self.assertEqual(self.read(self.sent + ".config"), 'header = "PRIVATE-TOKEN: secret"\n')
        calls = self.read(self.calls)
        self.assertIn("https://gitlab.example/api/v4/projects/12/merge_requests/34/notes", calls)
        self.assertNotIn("secret", calls)
        kept = os.path.join(self.work, "perf", "new", "parse.bneck")
        self.assertTrue(os.path.exists(kept))
        with open(kept, "rb") as file:
            self.assertNotIn(b"secret", file.read())
        self.assertTrue(os.path.exists(os.path.join(self.work, "perf", "junit.xml")))

    def test_a_comment_that_is_refused_does_not_decide(self):
        self.commit("0.3")
        self.write(os.path.join(self.tools, "curl"), "#!/bin/sh\nexit 22\n")
        done = self.run_job()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"could not be sent", done.stdout)


class Pages(Case):
    def test_the_jobs_are_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("Python has no yaml: the jobs are not read as YAML")
        jobs = yaml.safe_load(WORKFLOW)["jobs"]["profile"]["steps"]
        shells = {step["name"]: step["run"] for step in jobs if "run" in step}
        self.assertEqual(shells, {name: text for name, (text, _) in steps().items()})
        self.assertEqual(yaml.safe_load(JOB)["performance"]["script"],
                         [block(JOB[JOB.index("  script:"):], "")])

    def test_the_digests(self):
        profile = self.path("p.bneck")
        self.profile_run(["sh", "-c", "sleep 0.2"])
        for side in ("base", "new"):
            os.makedirs(os.path.join(self.work, "perf", side))
            shutil.copy(self.path("profile.bneck"), os.path.join(self.work, "perf", side, "parse.bneck"))
        self.assertFalse(os.path.exists(profile))
        for line in PAGE["A language model"].splitlines():
            done = self.bare([BOTTLENECK, *line.split()[1:]])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.work, "digest.json")))


if __name__ == "__main__":
    main()
