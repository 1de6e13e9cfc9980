#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pictures of README.md: a report as a terminal shows it (SVG), and the HTML page (PNG).

    tests/tools/pictures.py BOTTLENECK FOLDER COMMAND [ARGUMENT...]

Runs COMMAND under BOTTLENECK in a terminal of 100 columns and writes FOLDER/report.svg; then exports
the page of that run and has chromium, if it is installed, draw FOLDER/page.png.
"""
import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS, ROWS = 100, 60
WIDTH, HEIGHT, MARGIN = 8.4, 18, 14  # of a cell, and around all of them, in pixels
SIZE = 14
BACK, PLAIN = "#1c1f24", "#d8dce2"
# What SGR numbers 30 to 37 and 90 to 97 stand for.
COLORS = ["#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dce2"]
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER = re.compile(r"\x1b\[[0-9;?]*[A-HJKST]|\x1b\][^\x07]*\x07|\x1b[=>]")


def in_a_terminal(command, environment):
    """What COMMAND writes to a terminal of that size."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**environment, "TERM": "xterm-256color",
                                         "COLUMNS": str(COLUMNS), "LINES": str(ROWS)})
    written = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.waitpid(pid, 0)
    return written.decode("utf-8", errors="replace")


class Style:
    def __init__(self):
        self.bold = self.dim = False
        self.color = PLAIN

    def take(self, numbers):
        for number in [int(n or 0) for n in numbers.split(";")]:
            if number == 0:
                self.__init__()
            elif number == 1:
                self.bold = True
            elif number == 2:
                self.dim = True
            elif number == 22:
                self.bold = self.dim = False
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self.color = COLORS[number % 10]
            elif number == 39:
                self.color = PLAIN

    def attributes(self):
        return (f' fill="{self.color}"' + (' font-weight="bold"' if self.bold else "") +
                (' opacity="0.6"' if self.dim else ""))


def shown(line):
    """What stays of a LINE that was overwritten, as progress is."""
    return OTHER.sub("", line).rstrip("\r").rsplit("\r", maxsplit=1)[-1]


def draw_line(line, style, y):
    parts, column = [], 0
    for i, piece in enumerate(SGR.split(line)):
        if i % 2:
            style.take(piece)
        elif piece:
            x = MARGIN + column * WIDTH
            text = html.escape(piece).replace(" ", "\u00a0")  # plain spaces run together
            parts.append(f'<text x="{x:.1f}" y="{y}"{style.attributes()} '
                         f'textLength="{len(piece) * WIDTH:.1f}">{text}</text>')
            column += len(piece)
    return "".join(parts)


def draw(text):
    lines = [shown(line) for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not SGR.sub("", lines[-1]).strip():
        lines.pop()
    style = Style()
    rows = [draw_line(line, style, MARGIN + HEIGHT * (i + 1) - 4) for i, line in enumerate(lines)]
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">\n'
            f'<rect width="100%" height="100%" rx="6" fill="{BACK}"/>\n' +
            "\n".join(row for row in rows if row) + "\n</svg>\n")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    bottleneck, folder, command = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        environment = {**os.environ, "HOME": work}
        environment.pop("XDG_STATE_HOME", None)
        page = os.path.join(work, "page.html")
        text = in_a_terminal([bottleneck, *command], environment).replace(work, "~")
        with open(os.path.join(folder, "report.svg"), "w", encoding="utf-8") as file:
            file.write(draw(text))
        subprocess.run([bottleneck, "report", "--export", f"html={page}"], check=True,
                       env=environment)
        if not shutil.which("chromium"):
            sys.exit("chromium is not installed: no picture of the page was made")
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars",
                        "--window-size=1200,900", "--virtual-time-budget=3000",
                        f"--screenshot={os.path.join(folder, 'page.png')}", f"file://{page}"],
                       check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
