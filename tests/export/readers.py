# SPDX-License-Identifier: MIT
"""Reads every export with programs that others wrote, and says which of them were not there.

    python3 -m venv readers && readers/bin/pip install protobuf jsonschema cmarkgfm
    BOTTLENECK=build/cli/bottleneck readers/bin/python tests/export/readers.py [PROFILE]

speedscope's own importer is asked if SPEEDSCOPE names a folder with its npm package that node can
load. SARIF is held against the standard's schema if SARIF_SCHEMA names it
(https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json). Without PROFILE a small program is profiled. Ends with 1 if a reader refuses a file.
"""
import gzip
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BOTTLENECK = os.path.abspath(os.environ.get("BOTTLENECK", "build/cli/bottleneck"))
PROGRAM = "import json\nfor _ in range(400): json.dumps(list(range(3000)))\n"


class Skip(Exception):
    """The reader is not installed."""


def export(profile, form):
    return subprocess.run([BOTTLENECK, "report", "--export", form, profile], check=True,
                          capture_output=True).stdout


def times(profile):
    """On a CPU and waiting, in ns: what every file has to sum to."""
    rows = json.loads(export(profile, "json"))["tables"]["functions"]
    on_cpu = sum(row["self_on_cpu_ns"] for row in rows)
    return on_cpu, sum(ns for row in rows for name, ns in row.items()
                       if name.startswith("self_wait_"))


def installed(package):
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError as error:
        raise Skip(f"the Python package {package} is not installed") from error


def read_json(profile):
    reader = installed("jsonschema")
    import jsonschema
    with open(os.path.join(HERE, "report.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    document = json.loads(export(profile, "json"))
    jsonschema.validate(document, schema)
    return reader, f"{len(document['tables'])} tables, {len(document['findings'])} findings"


def read_pprof(profile):
    reader = installed("protobuf")
    from google.protobuf.unknown_fields import UnknownFieldSet
    sys.path.insert(0, HERE)
    from pprof_schema import profile_class
    message = profile_class()()
    message.ParseFromString(gzip.decompress(export(profile, "pprof")))
    kinds = [message.string_table[kind.type] for kind in message.sample_type]
    sums = {kind: sum(sample.value[i] for sample in message.sample)
            for i, kind in enumerate(kinds)}
    assert (sums["cpu"], sums["off_cpu"]) == times(profile), sums
    assert sums["wall"] == sum(times(profile))
    locations = {location.id for location in message.location}
    functions = {function.id for function in message.function}
    assert 0 not in locations and 0 not in functions
    assert all(at in locations for sample in message.sample for at in sample.location_id)
    assert all(line.function_id in functions
               for location in message.location for line in location.line)
    for part in (message, *message.sample, *message.location, *message.function):
        assert not UnknownFieldSet(part), "fields that the schema does not have"
    return reader, f"{len(message.sample)} samples, {len(message.location)} locations"


def read_callgrind(profile):
    if not shutil.which("callgrind_annotate"):
        raise Skip("callgrind_annotate (valgrind) is not installed")
    with tempfile.NamedTemporaryFile() as file:
        file.write(export(profile, "callgrind"))
        file.flush()
        done = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", file.name],
                              check=True, capture_output=True, text=True)
    match = re.search(r"^([\d,.]+)[^\d\n]*(?:\([\d.]+%\))?\s+([\d,.]+).*PROGRAM TOTALS",
                      done.stdout, re.M)
    assert match, done.stdout
    found = tuple(int(text.replace(",", "").replace(".", "") or 0) for text in match.groups())
    assert found == times(profile), (found, times(profile))
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True,
                             check=False).stdout.strip()
    return f"callgrind_annotate of {version}", "totals to the last digit"


def read_speedscope(profile):
    place = os.environ.get("SPEEDSCOPE")
    if not place or not shutil.which("node"):
        raise Skip("SPEEDSCOPE names no importer, or node is not installed")
    with tempfile.NamedTemporaryFile(suffix=".speedscope.json") as file:
        file.write(export(profile, "speedscope"))
        file.flush()
        script = ("const s = require(process.argv[1]), fs = require('fs');"
                  "s.importSpeedscopeProfiles(JSON.parse(fs.readFileSync(process.argv[2])))"
                  ".profiles.forEach(p => console.log(p.getTotalWeight()))")
        done = subprocess.run(["node", "-e", script, place, file.name], check=True,
                              capture_output=True, text=True)
    return "speedscope", f"{len(done.stdout.split())} profiles"


def read_sarif(profile):
    place = os.environ.get("SARIF_SCHEMA")
    if not place:
        raise Skip("SARIF_SCHEMA names no schema")
    reader = installed("jsonschema")
    import jsonschema
    with open(place, encoding="utf-8") as file:
        schema = json.load(file)
    document = json.loads(export(profile, "sarif"))
    jsonschema.Draft4Validator(schema).validate(document)
    return reader, f"{len(document['runs'][0]['results'])} results"


def read_markdown(profile):
    """As GitHub renders it: tables, and nothing that foreign text has made."""
    reader = installed("cmarkgfm")
    import cmarkgfm
    from cmarkgfm.cmark import Options
    hostile = "f(@all) https://e.vil www.e.vil a@b.vil *x* `y` <b> ![i](j) | [a](b) ~~s~~ #1"
    with tempfile.TemporaryDirectory() as directory:
        kept = os.path.join(directory, "h.bneck")
        subprocess.run([BOTTLENECK, "--no-report", "-o", kept, "sh", "-c", ":", *hostile.split(" "),
                        hostile], check=True)
        page = ""
        for path in (profile, kept):
            page += cmarkgfm.github_flavored_markdown_to_html(
                export(path, "markdown").decode(), options=Options.CMARK_OPT_UNSAFE)
    found = set(re.findall(r"</?(\w+)", page))
    wrong = found - set("h3 h4 p code ul li strong table thead tbody tr th td".split())
    if wrong or not {"table", "code"} <= found:
        raise ValueError(f"elements are {sorted(found)}")
    return reader, f"{page.count('<table>')} tables"


def main():
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        profile = sys.argv[1] if len(sys.argv) > 1 else os.path.join(directory, "p.bneck")
        if len(sys.argv) <= 1:
            subprocess.run([BOTTLENECK, "--no-report", "-o", profile, sys.executable, "-c",
                            PROGRAM], check=True)
        for form, read in (("json", read_json), ("pprof", read_pprof),
                           ("callgrind", read_callgrind), ("speedscope", read_speedscope),
                           ("sarif", read_sarif), ("markdown", read_markdown)):
            try:
                reader, words = read(profile)
                print(f"{form:11} read by {reader}: {words}")
            except Skip as skip:
                print(f"{form:11} SKIPPED: {skip}")
            except Exception as error:
                failed = True
                print(f"{form:11} REFUSED: {type(error).__name__}: {error}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
