# SPDX-License-Identifier: MIT
"""Profiles in the formats of other programs: each is read back, and sums to what the report does."""
import gzip
import json
import os
import re
import stat

from harness import Case, main, target

NS_PER_MS = 1_000_000


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def strict_json(data):
    """Parses DATA as the standard has it: no NaN, no keys twice, UTF-8."""
    def unique(pairs):
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"keys twice: {keys}")
        return dict(pairs)
    return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=unique)


def collapsed(data):
    """[(frames, ms)], as flamegraph.pl takes the lines apart."""
    stacks = []
    for line in data.decode("utf-8").splitlines():
        match = re.fullmatch(r"(.+) (\d+)", line)
        if not match:
            raise ValueError(f"no stack: {line!r}")
        stacks.append((match[1].split(";"), int(match[2])))
    return stacks


class Export(Case):
    data = None

    def setUp(self):
        super().setUp()
        if Export.data is None:
            done = self.profile_run([target("threads")])
            self.assertEqual(done.status, 0, done.err)
            with open(done.profile, "rb") as file:
                Export.data = file.read()
        self.file = self.path("p.bneck")
        with open(self.file, "wb") as file:
            file.write(Export.data)

    def export(self, form, *options, profile=None):
        done = self.verb("report", "--export", form, *options, profile or self.file)
        self.assertEqual(done.returncode, 0, f"{form} {options}: {done.stderr.decode()}")
        self.assertEqual(done.stderr, b"")
        return done.stdout


def speedscope_sums(document):
    """{(tid, what): sum}, and that each profile is in order."""
    sums = {}
    frames = document["shared"]["frames"]
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)
        sums[profile["name"]] = sum(profile["weights"])
    return sums


class Speedscope(Export):
    def document(self, *options):
        return strict_json(self.export("speedscope", *options))

    def total(self, *options):
        return sum(speedscope_sums(self.document(*options)).values())

    def test_it_is_what_speedscope_asks_for(self):
        document = self.document()
        self.assertEqual(document["$schema"],
                         "https://www.speedscope.app/file-format-schema.json")
        for profile in document["profiles"]:
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], ("nanoseconds", "bytes"))
            self.assertEqual(profile["startValue"], 0)
        for frame in document["shared"]["frames"]:
            self.assertTrue(frame["name"])
            self.assertLessEqual(set(frame), {"name", "file", "line"})

    def test_every_thread_is_a_profile_of_its_own(self):
        names = " ".join(speedscope_sums(self.document("--on-cpu")))
        text = self.verb("report", "--by", "thread", self.file).stdout.decode()
        tids = re.findall(r" (\d+)$", text.split("limits")[0], re.M)
        self.assertGreater(len(tids), 1)
        for tid in tids:
            self.assertRegex(names, rf"\b{tid}\b")

    def test_parts_sum_to_the_whole(self):
        whole = self.total()
        self.assertEqual(self.total("--on-cpu") + self.total("--off-cpu"), whole)
        self.assertEqual(self.total("--to", "0.1") + self.total("--from", "0.1"), whole)

    def test_the_file_says_what_was_cut(self):
        self.assertNotIn("only", self.document()["name"])
        self.assertIn("only time on a CPU", self.document("--on-cpu")["name"])
        self.assertIn("0.100 to", self.document("--from", "0.1")["name"])


class Collapsed(Export):
    def test_it_sums_to_what_speedscope_has(self):
        for options in ((), ("--on-cpu",), ("--off-cpu",), ("--from", "0.1")):
            stacks = collapsed(self.export("collapsed", *options))
            sums = speedscope_sums(strict_json(self.export("speedscope", *options)))
            ns = sum(sum_ for name, sum_ in sums.items() if "CPU" in name or "waiting" in name)
            self.assertEqual(sum(ms for _, ms in stacks), (ns + NS_PER_MS // 2) // NS_PER_MS)

    def test_waiting_is_a_frame(self):
        for frames, _ in collapsed(self.export("collapsed", "--off-cpu")):
            self.assertRegex(frames[-1], r"^\[waiting: .*\]$")
        for frames, _ in collapsed(self.export("collapsed", "--on-cpu")):
            self.assertNotIn("[waiting", frames[-1])

    def test_the_first_frame_says_what_was_cut(self):
        for frames, _ in collapsed(self.export("collapsed", "--on-cpu")):
            self.assertEqual(frames[0], "[only time on a CPU]")

    def test_shares_are_those_of_the_report(self):
        stacks = collapsed(self.export("collapsed", "--on-cpu"))
        whole = sum(ms for _, ms in stacks)
        text = self.verb("report", "--on-cpu", "--by", "function", self.file).stdout.decode()
        rows = re.findall(r"^ +[\d.]+ m?s +([\d.]+) .*? (\w+) +threads\.c:\d+$", text, re.M)
        self.assertTrue(rows, text)
        for share, name in rows[:3]:
            own = sum(ms for frames, ms in stacks if frames[-1].startswith(name + " "))
            self.assertAlmostEqual(100 * own / whole, float(share), delta=1.5)


class Files(Export):
    def test_a_run_writes_them_beside_its_report(self):
        place, other = self.path("a.json"), self.path("b.txt")
        done = self.profile_run([target("shares")], "--export", f"speedscope={place}",
                                "--export", f"collapsed={other}")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("hotspots", done.report)
        with open(place, "rb") as file:
            self.assertEqual(file.read(),
                             self.export("speedscope", profile=done.profile))
        with open(other, "rb") as file:
            self.assertEqual(file.read(), self.export("collapsed", profile=done.profile))
        self.assertEqual(os.listdir(self.work), [])

    def test_a_run_without_a_file_is_refused_before_it_starts(self):
        done = self.verb("--export", "collapsed", "touch", self.path("ran"))
        self.assert_clean_message(done, "collapsed", "--export collapsed=FILE")
        self.assertEqual(done.returncode, 125)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_places_that_cannot_be_written_are_found_out_before_the_run(self):
        for place in ("/nowhere/x", self.directory, "/proc/version/x"):
            done = self.verb("--export", f"collapsed={place}", "touch", self.path("ran"))
            self.assert_clean_message(done, place)
            self.assertFalse(os.path.exists(self.path("ran")))

    def test_names_with_gz_are_compressed(self):
        place = self.path("x.txt.gz")
        self.assertEqual(self.export(f"collapsed={place}"), b"")
        with gzip.open(place) as file:
            self.assertEqual(file.read(), self.export("collapsed"))

    def test_a_file_is_replaced_with_its_mode_and_links_stay(self):
        place, link = self.path("x"), self.path("link")
        with open(place, "w", encoding="ascii") as file:
            file.write("x" * 1_000_000)
        os.chmod(place, 0o640)
        os.symlink(place, link)
        self.export(f"collapsed={link}")
        self.assertTrue(os.path.islink(link))
        self.assertEqual(stat.S_IMODE(os.stat(place).st_mode), 0o640)
        with open(place, "rb") as file:
            self.assertEqual(file.read(), self.export("collapsed"))
        self.assertEqual({"x", "link"} - set(os.listdir(self.directory)), set())

    def test_a_full_disk_is_an_error(self):
        done = self.verb("report", "--export", "collapsed=/dev/full", self.file)
        self.assert_clean_message(done, "/dev/full", "No space left")

    def test_a_full_disk_leaves_the_programs_status(self):
        done = self.profile_run(["sh", "-c", "exit 7"], "--export", "speedscope=/dev/full")
        self.assertEqual(done.status, 7)
        self.assertIn(b"No space left", done.err)

    def test_wrong_words(self):
        for words, message in ((["--export", "nothing"], "not one of"),
                               (["--export", "collapsed="], "no name"),
                               (["--export", "collapsed", "--export", "speedscope"], "taken"),
                               (["--export", "collapsed", "--json"], "--json")):
            self.assert_clean_message(self.verb("report", *words, self.file), message)

    def test_only_a_thread_that_is_there(self):
        done = self.verb("report", "--export", "collapsed", "--thread", "nobody", self.file)
        self.assert_clean_message(done, "nobody")


if __name__ == "__main__":
    main()
