# SPDX-License-Identifier: MIT
"""What bash, zsh and fish complete: every option of --help, their values, programs and files."""
import os
import re
import shlex

from harness import BOTTLENECK, Case, main, need
from terminal import Terminal

COMPLETION = os.path.join(os.path.dirname(__file__), "..", "..", "cli", "completion")
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
MANUAL = os.path.join(os.path.dirname(__file__), "..", "..", "man", "bottleneck-export.7")


def formats():
    """Those that bottleneck-export(7) tells of."""
    with open(MANUAL, encoding="utf-8") as page:
        return set(re.findall(r"^\.It Cm (\w+)$", page.read(), re.M))


VALUES = {
    "as": {"cprofile", "cprofile-callers", "cprofile-callees", "torch", "nvtx", "itt", "api", "blas", "fftw",
           "mpi", "cuda", "python"},
    "budget": {"none"},
    "by": {"function", "line", "module", "file", "thread", "process", "op", "shape", "stack",
           "domain", "stream", "kernel"},
    "color": {"auto", "always", "never"},
    "export": formats(),
    "phase": {"all", "startup", "warmup", "steady"},
    "gpu-callsites": {"off", "sampled", "all"},
    "rung": {"kernel", "user", "agent", "proc"},
    "sort": {"self", "total", "line", "calls", "mem", "flops", "avg", "mem-total", "net",
             "net-total", "gpu-net", "gpu-net-total", "gpu", "gpu-total", "wall"},
    "unwinder": {"table", "libunwind"},
}

DIFF_VALUES = {
    "by": {"run", "wall", "function", "line", "module", "file", "thread", "process", "op",
           "shape", "kernel"},
    "sort": {"change", "ratio", "base", "new"},
    "phase": {"all", "startup", "warmup", "steady"},
}


def file(name):
    return os.path.abspath(os.path.join(COMPLETION, name))


class Shells(Case):
    def setUp(self):
        super().setUp()
        self.with_path = self.environment(
            PATH=os.path.dirname(BOTTLENECK) + ":" + os.environ["PATH"], HOME=self.work)

    def verbs(self):
        """Names of the commands."""
        text = self.verb("--help").stdout.decode()
        found = re.findall(r"^  ([a-z]+) ", text[:text.index('"bottleneck COMMAND')], re.M)
        self.assertIn("explain", found)
        return found

    def options(self, verb):
        """Names of the long options, those with a value with =."""
        text = self.verb(verb, "--help").stdout.decode()
        return set(re.findall(r"^  (?:-\w,)? *(--[a-z+-]+=?)", text, re.M))

    def shell(self, *command):
        done = self.bare(list(command), env=self.with_path)
        self.assertEqual(done.stderr, b"")
        return {line.split("\t")[0].strip() for line in done.stdout.decode().splitlines()}


class Bash(Shells):
    def complete(self, *words):
        line = " ".join(shlex.quote(word) for word in words)
        return self.shell("bash", "-c", f"""
            compopt() {{ :; }}
            source {shlex.quote(file("bottleneck.bash"))}
            COMP_WORDS=(bottleneck {line}) COMP_CWORD={len(words)}
            _bottleneck; printf '%s\\n' "${{COMPREPLY[@]}}" """)

    def test_all_options(self):
        need("bash")
        for verb in self.verbs():
            self.assertEqual(self.complete(verb, "--"), self.options(verb), verb)

    def test_values(self):
        need("bash")
        for option, values in VALUES.items():
            # A shell whose COMP_WORDBREAKS has the = makes three words of --by=x.
            self.assertEqual(self.complete("report", f"--{option}", "=", ""), values, option)
            self.assertEqual(self.complete("report", f"--{option}", ""), values, option)
        for option, values in DIFF_VALUES.items():
            self.assertEqual(self.complete("diff", f"--{option}", ""), values, option)

    def test_rules(self):
        need("bash")
        rules = set(re.findall(r"^  ([A-Z][A-Z0-9-]+) ",
                               self.verb("explain").stdout.decode(), re.M))
        self.assertIn("CPU-LOCK", rules)
        self.assertEqual(self.complete("explain", ""), rules)
        self.assertEqual(self.complete("report", "--rule", ""), rules)
        self.assertEqual(self.complete("report", "--fail-on", ""),
                         rules | {"info", "warn", "error"})

    def test_at_the_prompt(self):
        need("bash")
        if not os.path.exists(BASH_COMPLETION):
            self.skipTest("bash-completion is not installed")
        terminal = Terminal(self)
        terminal.command(f"PATH={os.path.dirname(BOTTLENECK)}:$PATH")
        terminal.expect("prompt> ")
        terminal.command(f"bind 'set enable-bracketed-paste off'; . {BASH_COMPLETION}; "
                         f". {file('bottleneck.bash')}; echo sour''ced")
        terminal.expect("sourced")
        terminal.expect("prompt> ")
        for typed, wanted in (("report --min", "report --min-pct="),
                              ("report --sort=to", "report --sort=total "),
                              ("rep", "report ")):
            terminal.send(f"bottleneck {typed}\t")
            terminal.expect(re.escape(f"bottleneck {wanted}"))
            terminal.send("\x15")


class Zsh(Shells):
    def setUp(self):
        super().setUp()
        need("zsh")

        with open(os.path.join(self.work, ".zshrc"), "w", encoding="utf-8") as rc:
            rc.write(f"""
                stty rows 100 cols 200
                unsetopt prompt_sp prompt_cr; unset zle_bracketed_paste; LISTMAX=1000
                PATH={os.path.dirname(BOTTLENECK)}:$PATH
                fpath=({os.path.dirname(file("_bottleneck"))} $fpath)
                autoload -Uz compinit; compinit -u -D
                zstyle ':completion:*' verbose no
                PS1='prompt> '""")
        self.terminal = Terminal(self, ["env", f"ZDOTDIR={self.work}", "zsh", "-d", "-i"])

    def complete(self, line):
        """What is listed for LINE by Ctrl-D."""
        self.terminal.send(line + "\x04")
        self.terminal.expect(r"\x1b\[J")  # below the line ...
        listed = self.terminal.expect(r"\x1b\[\d*A")  # ... to where it goes up again
        self.terminal.send("\x15")  # the line is killed
        self.terminal.send("echo re''ady\n")
        self.terminal.expect("ready")
        self.terminal.expect("prompt> ")
        return set(re.findall(r"[a-z+-]+", listed))

    def test_all_options(self):
        for verb in self.verbs():
            wanted = {option.rstrip("=") for option in self.options(verb)}
            self.assertEqual(self.complete(f"bottleneck {verb} --"), wanted, verb)

    def test_values(self):
        for option, values in VALUES.items():
            self.assertEqual(self.complete(f"bottleneck report --{option}="), values, option)
        for option, values in DIFF_VALUES.items():
            self.assertEqual(self.complete(f"bottleneck diff --{option}="), values, option)

    def test_verbs(self):
        for verb in self.verbs():
            self.assertIn(verb, self.complete(f"bottleneck {verb[:-1]}"))


class Fish(Shells):
    def setUp(self):
        super().setUp()
        need("fish")

    def complete(self, line):
        return self.shell("fish", "--no-config", "-c",
                          f"source {file('bottleneck.fish')}; complete -C {shlex.quote(line)}")

    def test_all_options(self):
        for verb in self.verbs():
            offered = {option.rstrip("=") for option in self.complete(f"bottleneck {verb} --")}
            self.assertEqual(offered, {option.rstrip("=") for option in self.options(verb)}, verb)

    def test_verbs(self):
        self.assertTrue(set(self.verbs()) <= self.complete("bottleneck "), "verbs are missing")

    def test_values(self):
        for option, values in VALUES.items():
            verb = "report" if option in ("by", "color", "sort") else "run"
            self.assertEqual({value.split("=")[-1] for value in
                              self.complete(f"bottleneck {verb} --{option}=")}, values, option)
        for option, values in DIFF_VALUES.items():
            self.assertEqual({value.split("=")[-1] for value in
                              self.complete(f"bottleneck diff --{option}=")}, values, option)


if __name__ == "__main__":
    main()
