#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Looks at the HTML report in a real browser: check.py HTML_PAGE BOTTLENECK [SCREENSHOTS]

HTML_PAGE makes pages of known runs (tests/html/page.c), BOTTLENECK one of a real run. The browser
is a headless Chromium. It has to find what the run is known for, and must neither ask for anything
over a network nor complain. With SCREENSHOTS, a directory, it leaves pictures there.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("skipped: python3-selenium is not installed")
    sys.exit(77)

CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
FAILURES = []
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">"


def expect(what, good):
    if not good:
        FAILURES.append(what)
        print(f"FAILED: {what}")


class Browser:
    """One page at a time, and what the browser had to say about it."""

    def __init__(self, directory):
        options = Options()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                         "--disable-dev-shm-usage", f"--user-data-dir={directory}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_page_load_timeout(300)
        self.driver.set_script_timeout(300)
        self.size(1280, 900)

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def media(self, scheme, medium=""):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": medium, "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, path):
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.url = f"file://{path}"
        self.driver.get(self.url)
        self.wait(lambda: self.run("return document.documentElement.dataset.ready"), "the page is ready")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, what):
        try:
            WebDriverWait(self.driver, 120, 0.05).until(lambda _: condition())
        except Exception:  # whatever it was, the condition did not come true
            expect(what, False)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        # As a script does: what lies under a sticky head is no matter here.
        self.run("document.querySelector(arguments[0]).click()", selector)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def quiet(self, name):
        """No complaint, and no request but for the page."""
        for line in self.driver.get_log("browser"):
            expect(f"{name}: the console says {line['message']}", False)
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                expect(f"{name}: it asks for {url}", url == self.url or url == "about:blank")


def check_first_screen(b):
    for part in ("#verdict .sentence", "#verdict .next", ".finding"):
        bottom = b.run("return document.querySelector(arguments[0]).getBoundingClientRect().bottom", part)
        expect(f"{part} is on the first screen", 0 < bottom <= 900)
    expect("the verdict says something", len(b.text("#verdict .sentence")) > 20)
    expect("a finding says what to do", "Do:" in b.text(".finding"))
    expect("the warm-up is told of", b.one("#warmup").is_displayed() and "warm-up" in b.text("#warmup"))
    shares = b.run("return [...document.querySelectorAll('#account > .legend b')].map((e) => parseFloat(e.textContent))")
    expect(f"the wall time is 100 %: {shares}", 99.5 <= sum(shares) <= 100.5)
    expect("and so is its bar", 99.5 <= b.run(
        "return [...document.querySelectorAll('#account > .wall span')].reduce((s, e) => s + parseFloat(e.style.width), 0)") <= 100.5)


def check_names(b):
    expect("the page has its own title", b.driver.title.startswith("bottleneck: ./app"))
    expect("no name became an element", not b.all("img") and b.run("return document.scripts.length") == 2)
    expect("the command is there, letter by letter", HOSTILE in b.text("#command"))
    b.click("#tables [data-key=functions]")
    expect("and so is the function", HOSTILE in b.text("#tables tbody"))
    b.click("#tables [data-key=threads]")
    expect("and the thread", HOSTILE in b.text("#tables tbody"))
    b.click("#tables [data-key=ops]")
    expect("and the op", HOSTILE in b.text("#tables tbody"))
    source = b.text("#source .lines")
    expect("and the source", '"</script><b>" + item  # \u2713' in source)


def search(b, words):
    b.run("""flame.search.value = arguments[0];
             flame.search.dispatchEvent(new Event('input'));""", words)
    return b.run("return flame.found.textContent")


def check_flame(b):
    modes = b.run("return [...flame.modes.children].map((e) => e.textContent)")
    expect(f"there are flame graphs of all kinds: {modes}", {
        "CPU + waiting", "on a CPU", "waiting", "on GPUs", "memory allocated", "memory at its peak"} <= set(modes))
    b.click("#flame [data-key=on]")
    found = search(b, "gemm")
    share = float(found.split(" %")[0])
    expect(f"a quarter of the CPU time is in gemm: {found}", 24 <= share <= 26)
    expect(f"a search for a file: {search(b, 'train.py')}", search(b, "train.py").startswith("100.0 %"))
    expect(f"what is not there: {search(b, 'nobody')}", search(b, "nobody").startswith("0.0 %"))
    search(b, "")
    whole = b.run("return [flame.focus, flame.tree.total[0]]")
    expect("nothing is zoomed to", whole[0] == 0)

    # With the keyboard alone.
    b.run("flame.canvas.focus()")
    b.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    first = b.run("return flame.name(flame.cursor)")
    expect(f"the way down goes along the heaviest path: {first}", first == "decode")
    expect("it is told to who cannot see it", "decode" in b.text("#flame-info"))
    b.keys(Keys.ARROW_RIGHT)
    second = b.run("return flame.name(flame.cursor)")
    expect(f"a neighbour: {second}", second in ("gemm", HOSTILE))
    b.keys(Keys.ARROW_LEFT, Keys.ENTER)
    expect("Enter zooms", b.run("return flame.name(flame.focus)") == "decode")
    b.keys(Keys.ARROW_UP)
    expect("what is above can be gone to", b.run("return flame.name(flame.cursor)") == "main")
    b.keys(Keys.ESCAPE)
    expect("Escape shows all", b.run("return flame.focus") == 0)
    b.keys("/")
    expect("a slash begins a search", b.run("return document.activeElement === flame.search"))
    b.keys("gemm", Keys.ENTER)
    expect("Enter goes to what was found", b.run("return flame.name(flame.cursor)") == "gemm")
    b.keys(Keys.ESCAPE)
    expect("Escape ends it", b.run("return flame.search.value") == "")

    # With the mouse: where main is drawn.
    b.run("flame.canvas.scrollIntoView({block: 'center', behavior: 'instant'})")
    for _ in range(2):
        ActionChains(b.driver).move_to_element_with_offset(
            b.one("#flame canvas"), -200, int(2.5 * 19 - b.run("return flame.height / 2"))).click().perform()
        if b.run("return flame.focus"):
            break
    expect("a click zooms", b.run("return flame.name(flame.focus)") == "decode")
    b.click("#flame .tools > button:nth-of-type(2)")
    expect("and the button resets", b.run("return flame.focus") == 0)

    b.click("#flame .tools > button:nth-of-type(1)")
    names = b.run("return flame.tree.children(0).map((i) => [flame.name(i), flame.tree.total[i]])")
    expect(f"callees come first when it is inverted: {names}", names[0][0] == "decode")
    expect("they are all of the time", sum(n for _, n in names) == whole[1])
    expect("and their callers are below", b.run("return flame.name(flame.tree.firstChild(flame.tree.firstChild(0)))") == "main")
    b.click("#flame .tools > button:nth-of-type(1)")

    b.run("flame.alternative.open = true")
    b.wait(lambda: b.all("#flame details table tbody tr"), "the flame graph as a table")
    b.click("#flame details table tbody button")
    expect("it can be gone down in", b.run("return flame.focus") > 0)
    b.run("flame.alternative.open = false")
    drawn = b.run("""flame.zoom(0); flame.draw();
        const c = flame.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return seen.size""")
    expect(f"something is drawn, in {drawn} colours", drawn > 4)


def column(b, title):
    heads = b.run("return [...document.querySelectorAll('#tables th')].map((e) => e.textContent.replace(/ [▾▴]$/, ''))")
    return heads.index(title)


def cells(b, title):
    at = column(b, title)
    return b.run("return [...document.querySelectorAll('#tables tbody tr:not(.spacer)')].map((r) => r.children[arguments[0]].textContent)", at)


def press_head(b, title):
    b.run("document.querySelectorAll('#tables th')[arguments[0]].querySelector('button').click()", column(b, title))


def check_tables(b):
    b.click("#tables [data-key=functions]")
    falling = [float(cell) for cell in cells(b, "self %") if cell]
    expect(f"functions come by self time: {falling}", falling == sorted(falling, reverse=True) and len(falling) > 2)
    press_head(b, "function")
    names = cells(b, "function")
    expect(f"and by name: {names}", names == b.run("return arguments[0].slice().sort((a, b) => a.localeCompare(b))", names))
    expect("which a screen reader is told", b.one("#tables th[data-key=name]").get_attribute("aria-sort") == "ascending")
    press_head(b, "function")
    expect("both ways", cells(b, "function") == names[::-1])
    press_head(b, "total")
    b.run("tables.table.filter.value = 'deco'; tables.table.filter.dispatchEvent(new Event('input'))")
    expect("a filter leaves what has its words", cells(b, "function") == ["decode"])
    b.run("tables.table.filter.value = ''; tables.table.filter.dispatchEvent(new Event('input'))")
    titles = b.run("return [...tables.tabs.children].map((e) => e.textContent)")
    expect(f"the tables are there: {titles}", {
        "Functions", "Lines", "Ops", "GPU kernels and copies", "GPUs", "Threads", "Processes", "Memory"} <= set(titles))
    b.run("tables.tabs.children[0].click(); tables.tabs.children[0].focus()")
    b.keys(Keys.ARROW_RIGHT)
    expect("arrows go from table to table", b.run("return tables.key") == "lines")
    b.click("#tables [data-key=memory]")
    expect(f"80 MB were allocated: {cells(b, 'allocated')}", "80.0 MB" in cells(b, "allocated"))
    b.click("#tables [data-key=gpu]")
    expect(f"the kernel was launched 80 times: {cells(b, 'calls')}", cells(b, "calls") == ["80"])
    b.click("#tables [data-key=managed]")
    words = ["device to host, for a page fault", "page faults of the host, reading"]
    expect(f"pages have moved: {cells(b, 'what')}", cells(b, "what") == words)
    expect(f"each time: {cells(b, 'times')}", cells(b, "times") == ["80", "80"])
    b.click("#tables [data-key=faults]")
    expect(f"their line is known: {cells(b, 'line')}", cells(b, "line") == ["results.c:12"])
    expect(f"and what came: {cells(b, 'came')}", cells(b, "came") == ["80.0 MB"])
    expect(f"for whom: {cells(b, 'function')}", cells(b, "function") == ["take_results"])


def check_charts(b):
    bars = b.run("""return [...document.querySelectorAll('[data-chart=ops-self] li')].map((li) =>
        [li.children[1].textContent, li.children[3].textContent, parseFloat(li.children[0].style.width)])""")
    names = [name for name, _, _ in bars]
    expect(f"ops are bars, the longest first: {bars}", names == ["train step", HOSTILE] and bars[0][2] == 100)
    expect(f"others in proportion: {bars}", 0 < bars[1][2] < 100)
    shares = [float(share.split()[0]) for _, share, _ in bars]
    expect(f"their shares are of all: {shares}", abs(sum(shares) - 100) < 0.2)
    expect("what has one row is no chart", not b.all("[data-chart=gpu-time]"))


def check_phases(b):
    keys = b.run("return page.data.phases.map((phase) => phase.key)")
    expect(f"there are phases: {keys}", keys == ["all", "warmup", "steady"] or keys == ["all", "startup", "warmup", "steady"])
    b.click("#flame [data-key=on]")
    whole = b.run("return flame.tree.total[0]")
    b.click("#phases [data-phase=steady]")
    steady = b.run("return flame.tree.total[0]")
    expect(f"the steady state is 750 ms: {steady}", 745e6 <= steady <= 755e6)
    expect(f"the whole run is 1250 ms: {whole}", whole == 1250e6)
    expect("the button says so", b.one("#phases [data-phase=steady]").get_attribute("aria-pressed") == "true")
    b.click("#tables [data-key=functions]")
    sum_ = b.run("return tables.data.get('functions').rows.reduce((sum, row) => sum + row[0], 0)")
    expect(f"its functions are of it: {sum_}", sum_ <= 2 * 760e6)
    expect("the kept memory is shown in each phase", "memory" in b.run("return [...tables.data.keys()]"))
    b.click("#phases [data-phase=warmup]")
    cold = b.run("return flame.tree.total[0]")
    expect(f"both are the run: {cold}", abs(cold + steady - whole) <= 5e6)
    b.click("#phases [data-phase=all]")


def check_steps(b):
    legend = b.run("return Array.from(document.querySelectorAll('#steps .legend li'), (e) => e.textContent)")
    expect(f"a legend says what steps spend their time on: {legend}",
           [words.rsplit(" ", 2)[0] for words in legend] == ["kernels", "Python and other"])
    sums = b.run("return steps.data.items.map((item) => [item[3], item.slice(4).reduce((a, b) => a + b, 0)])")
    expect(f"the parts of a step sum to its length: {sums[:3]}", all(ns == parts for ns, parts in sums))
    colours = b.run("""
        const c = steps.canvas, d = c.getContext('2d').getImageData(0, 0, 1, c.height).data;
        return new Set(Array.from({length: c.height}, (_, y) => d.slice(4 * y, 4 * y + 4).join(','))).size;""")
    expect(f"a bar has several colours: {colours}", colours >= 4)


def check_timeline(b):
    lanes = b.run("return timeline.lanes.map((lane) => [lane.thread, lane.gpu, lane.busy_ns])")
    expect(f"two threads, a GPU and its stream: {lanes}",
           [lane[1] for lane in lanes] == [False, False, True, True] and lanes[3][0] == "stream 7")
    calls = b.run("return timeline.lanes.map((lane) => lane.rows.map((row) => row.name.map((n) => page.data.texts[n])))")
    expect("each step is a box", calls[0][0] == 80 * ["train step"])
    expect("what it calls is below it", calls[0][1] == 80 * [HOSTILE])
    expect("and so is each kernel", calls[3] == [80 * ["gemm_kernel"]])
    expect("the main thread was on a CPU all the time", lanes[0][2] == 1250e6)
    expect("the GPU was busy for 3 ms a step", lanes[2][2] == 80 * 3e6)
    b.run("timeline.canvas.scrollIntoView({block: 'center', behavior: 'instant'}); timeline.canvas.focus()")
    b.keys("+", "+")
    expect("plus zooms", b.run("return timeline.to - timeline.from") == 1250e6 / 4)
    before = b.run("return timeline.from")
    b.keys(Keys.ARROW_RIGHT)
    expect("arrows move", b.run("return timeline.from") > before)
    b.keys(Keys.ESCAPE)
    expect("Escape shows all", b.run("return [timeline.from, timeline.to]") == [0, 1250e6])
    canvas = b.one("#timeline canvas")
    ActionChains(b.driver).move_to_element_with_offset(canvas, 0, 0).click_and_hold().move_by_offset(150, 0).release().perform()
    wide = b.run("return timeline.to - timeline.from")
    expect(f"dragging zooms: {wide}", 0 < wide < 1250e6 / 3)
    ActionChains(b.driver).move_to_element_with_offset(canvas, 0, 0).perform()
    b.run("timeline.set(0, timeline.wall)")
    middle = b.run("return [timeline.width / 2, timeline.height / 2]")
    ActionChains(b.driver).move_to_element_with_offset(
        canvas, int(200 - middle[0]), int(20 + 26 + 8 - middle[1])).perform()
    expect(f"it says what was there: {b.text('#timeline .info')}",
           "train step" in b.text("#timeline .info") and "100 ms" in b.text("#timeline .info"))
    b.run("timeline.set(0, timeline.wall)")


def check_source(b):
    b.click("#tables [data-key=functions]")
    b.run("source.goTo(source.sorted[0].file, 3)")
    expect("a place leads to its line", "</script><b>" in b.text("#source tr.at"))
    hot = b.run("return [...document.querySelectorAll('#source .lines tr')].map((r) => r.textContent)")
    expect(f"the line has its time: {hot}", any(line.startswith("62") and "return" in line for line in hot))


def check_theme(b):
    for scheme in ("light", "dark"):
        b.media(scheme)
        b.wait(lambda: b.run("return document.documentElement.dataset.theme") == scheme, f"it is {scheme}")
    dark = b.run("return getComputedStyle(document.body).backgroundColor")
    b.click("#theme")
    expect("the button changes it", b.run("return getComputedStyle(document.body).backgroundColor") != dark)
    b.media("light")


def check_reading(b):
    """What a screen reader and a keyboard need."""
    unnamed = b.run("""return [...document.querySelectorAll('button, input, canvas, [role=region]')]
        .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).length""")
    expect(f"{unnamed} controls have no name", unnamed == 0)
    expect("there are landmarks", b.all("main") and b.all("header") and b.all("footer"))
    expect("all sections have names", b.run(
        "return [...document.querySelectorAll('section')].every((s) => s.hidden || s.getAttribute('aria-label') || document.getElementById(s.getAttribute('aria-labelledby')))"))
    low = b.run("""
        const lum = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map((n) => n / 255)
            .map((n) => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
        const under = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
            if (!/, 0\\)$|transparent/.test(c) && !/rgba/.test(c)) return c; } return 'rgb(255,255,255)'; };
        const bad = [];
        for (const e of document.querySelectorAll('p, li, button, td, th, h1, h2, span, summary')) {
            if (!e.textContent.trim() || !e.offsetParent) continue;
            const [a, b] = [lum(getComputedStyle(e).color), lum(under(e))].sort((x, y) => y - x);
            if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(e.tagName + ' ' + e.textContent.slice(0, 40));
        }
        return bad.slice(0, 5)""")
    expect(f"too little contrast: {low}", not low)


def check_paper(b):
    """Printed, it has its findings and the first rows of all tables, and drawings that fit."""
    b.media("dark")
    b.wait(lambda: b.run("return document.documentElement.dataset.theme") == "dark", "it is dark before")
    b.run("window.dispatchEvent(new Event('beforeprint'))")
    b.media("dark", "print")
    shown = b.run("""return [...document.querySelectorAll('#tables .printed h3')]
        .filter((e) => e.offsetParent).map((e) => e.textContent)""")
    titles = b.run("return [...tables.data.values()].map((table) => table.title)")
    expect(f"all tables are printed: {shown}", shown == titles and len(titles) > 4)
    most = b.run("return Math.max(...[...document.querySelectorAll('.printed tbody')].map((e) => e.rows.length))")
    expect(f"their first rows: {most}", 2 < most <= 25)
    expect("what can only be pressed is not", not b.run(
        "return [...document.querySelectorAll('button:not(.place), input')].filter((e) => e.offsetParent).length"))
    findings = b.run("return [...document.querySelectorAll('.finding')].map((e) => e.offsetHeight)")
    expect(f"all findings are: {findings}", findings and min(findings) > 0)
    expect("in light colours", b.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)")
    wide = b.run("return [...document.querySelectorAll('canvas')].filter((e) => e.offsetParent).map((e) => e.offsetWidth)")
    expect(f"drawings are as wide as a page: {wide}", len(wide) > 1 and max(wide) <= 700)
    b.media("dark")
    b.run("window.dispatchEvent(new Event('afterprint'))")
    expect("afterwards it is as before", not b.all(".printed") and
           b.run("return document.documentElement.dataset.theme") == "dark")
    b.media("light")
    paper = b.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    expect("it can be printed", base64.b64decode(paper).startswith(b"%PDF"))


def check_widths(b):
    for width in 400, 1280:
        b.size(width, 900)
        wide = b.run("return document.documentElement.scrollWidth")
        expect(f"nothing sticks out of a window of {width}: {wide}", wide <= width)


def check_small(b, path):
    b.open(path)
    for check in (check_first_screen, check_names, check_flame, check_tables, check_charts, check_phases, check_timeline, check_steps,
                  check_source, check_reading, check_theme, check_reading, check_paper, check_widths):
        check(b)
    b.media("dark")
    check_reading(b)
    b.media("light")
    b.quiet("small")


def check_big(b, path):
    size = os.path.getsize(path)
    expect(f"it is of 10 MB: {size}", size >= 10e6)
    b.open(path)
    nodes = b.run("return flame.tree.count")
    expect(f"it has many nodes: {nodes}", nodes > 20000)
    b.click("#tables [data-key=ops]")
    rows = b.run("return document.querySelectorAll('#tables tbody tr').length")
    expect(f"only rows that are in sight are built: {rows} of 5000", 10 < rows < 100)
    count_ = b.run("return +document.querySelector('#tables table').getAttribute('aria-rowcount')")
    expect(f"but all are counted: {count_}", count_ == 5001)
    b.run("tables.table.scroll.scrollTop = 1e7")
    b.wait(lambda: b.run("return +[...document.querySelectorAll('#tables tr[aria-rowindex]')].pop().getAttribute('aria-rowindex')") == 5001,
           "the last row can be scrolled to")
    elements = b.run("return document.querySelectorAll('*').length")
    expect(f"the page has {elements} elements", elements < 10000)
    # A frame takes its time: against parsing the data, which nobody can do faster.
    parse, draw, turn = b.run("""
        const took = (work) => { const begin = performance.now(); work(); return performance.now() - begin; };
        const text = document.getElementById('data').textContent;
        const best = (work) => Math.min(...[1, 2, 3].map(() => took(work)));
        return [best(() => JSON.parse(text)), best(() => flame.draw()), best(() => timeline.draw())]""")
    print(f"10 MB: parsing {parse:.0f} ms, flame graph {draw:.1f} ms, timeline {turn:.1f} ms a frame")
    expect(f"a frame is no matter beside that: {draw:.0f}, {turn:.0f} ms and {parse:.0f} ms", max(draw, turn) < 3 * parse)
    b.click("#flame .tools > button:nth-of-type(1)")
    expect("it can be inverted", b.run("return flame.tree.count") > 100)
    b.quiet("big")


def check_empty(b, path):
    b.open(path)
    expect("an empty run has a verdict, too", b.text("#verdict .sentence"))
    b.quiet("empty")


def check_changes(b):
    """The call tree by what each path has more, or less, of all: turn() does four times the work."""
    b.click("#flame [data-key=on]")
    before, now, words, label = b.run("""
        const node = [...Array(flame.tree.count).keys()].find((i) => flame.name(i) === 'turn');
        flame.move(node);
        return [flame.joined.before[node], flame.tree.total[node] / flame.tree.all, flame.info.textContent, flame.label(node)]""")
    expect(f"turn() was there before, with less: {before}, {now}", 0 < before < now)
    expect(f"that is said in words: {words}", f"{100 * before:.1f} % of all before" in words)
    level = b.run("return flame.change(flame.cursor).level")
    expect(f"and in the frame: {label}", label.startswith("+") == (level > 0))
    b.run("flame.zoom(0); flame.alternative.open = true")
    b.wait(lambda: b.all("#flame details table tbody tr"), "the changes as a table")
    expect("and in the table", "before" in b.text("#flame details table thead") and
           "of all before" in b.text("#flame details table tbody"))
    b.run("flame.alternative.open = false")
    expect(f"the legend has words: {b.text('#flame .legend')}", "more of all" in b.text("#flame .legend"))
    same = b.run("""compare.joined.clear();
        flame.joined = compare.join(flame.tree, flame.tree);
        const levels = [...Array(flame.tree.count).keys()].map((i) => flame.change(i).level);
        compare.joined.clear(); flame.load();
        return levels.filter(Boolean).length""")
    expect(f"a tree and itself have no change: {same}", same == 0)
    b.click("#flame .tools > button:nth-of-type(3)")
    expect("it can be switched off", b.run("return flame.joined") is None and "native" in b.text("#flame .legend"))
    b.click("#flame .tools > button:nth-of-type(3)")
    b.click("#flame .tools > button:nth-of-type(1)")
    expect("callees first are compared as well", b.run("return flame.joined.before.length") > 1)
    b.click("#flame .tools > button:nth-of-type(1)")
    b.click("#tables [data-key=functions]")


def check_real(b, bottleneck, directory):
    """A run from the command to the page."""
    script = os.path.join(directory, "app.py")
    with open(script, "w") as out:
        out.write("def turn(n):\n    return sum(i * i for i in range(n))\n\n"
                  "def main():\n    for _ in range(60):\n        turn(100000)\n\nmain()\n")
    path = os.path.join(directory, "real.html")
    run = subprocess.run([bottleneck, "-R", "/dev/null", f"--export=html={path}", "/usr/bin/python3", script],
                         env={**os.environ, "XDG_STATE_HOME": directory})
    expect("the run is not disturbed", run.returncode == 0)
    b.open(path)
    expect("it says what was run", b.text("#command").endswith(script))
    b.click("#flame [data-key=on]")
    found = search(b, "turn")
    expect(f"most of the CPU time is in turn(): {found}", float(found.split(" %")[0]) > 50)
    expect("with its source", "range(n)" in b.text("#source .lines"))
    window = os.path.join(directory, "window.html")
    subprocess.run([bottleneck, "report", f"--export=html={window}", "--on-cpu"], check=True,
                   env={**os.environ, "XDG_STATE_HOME": directory})
    b.open(window)
    expect(f"what was cut is said: {b.text('#facts')}", "time on a CPU" in b.text("#facts"))
    expect("and only that is there", b.run("return Object.keys(page.phase.flames).includes('off')") is False)
    expect("nothing is compared that was not asked for", not b.one("#diff").is_displayed())

    attached = os.path.join(directory, "attached.html")
    with subprocess.Popen(["sleep", "60"]) as process:
        subprocess.run([bottleneck, "-R", "/dev/null", "-p", str(process.pid), "--duration=0.2",
                        f"--export=html={attached}"], check=True, env={**os.environ, "XDG_STATE_HOME": directory})
        process.kill()
    b.open(attached)
    expect(f"what was attached to is said: {b.text('#facts')}",
           f"attached to PID {process.pid} " in b.text("#facts"))

    base = os.path.join(directory, "base.bneck")
    subprocess.run([bottleneck, "-R", "/dev/null", "-o", base, "/usr/bin/python3", script], check=True)
    with open(script) as text:
        slower = text.read().replace("turn(100000)", "turn(400000)")
    with open(script, "w") as out:
        out.write(slower)
    compared = os.path.join(directory, "compared.html")
    subprocess.run([bottleneck, "-R", "/dev/null", f"--export=html={compared}", f"--base={base}", "/usr/bin/python3", script],
                   check=True, env={**os.environ, "XDG_STATE_HOME": directory})
    b.open(compared)
    expect("a comparison is shown where it was asked for", b.one("#diff").is_displayed() and len(b.text("#diff strong")) > 20)
    expect(f"and all that it says is known: {b.text('#diff')[:300]}", "null" not in b.text("#diff"))
    rows = b.run("return diff.table.rows.map((row) => [row[6], row[0]])")
    expect(f"what became slower comes first, with its change: {rows[:3]}",
           rows[0][1] > 0 and any("genexpr" in name or name == "turn" for name, _ in rows[:2]))
    b.click("#diff [data-key=run]")
    expect("the run is compared as well", "wall time" in b.text("#diff tbody"))
    check_changes(b)
    alone = subprocess.run([bottleneck, "report", f"--base={base}"], capture_output=True, text=True,
                           env={**os.environ, "XDG_STATE_HOME": directory})
    expect(f"--base alone is refused: {alone.stderr}", alone.returncode != 0 and "--export html" in alone.stderr)
    b.quiet("real")


def pictures(b, path, directory, name):
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            b.media(scheme)
            b.size(width, 900)
            b.open(path)
            time.sleep(0.3)
            b.driver.save_screenshot(f"{directory}/{name}-{width}-{scheme}-first.png")
            b.size(width, min(6000, b.run("return document.documentElement.scrollHeight")))
            time.sleep(0.3)
            b.driver.save_screenshot(f"{directory}/{name}-{width}-{scheme}.png")
    b.media("light")
    b.size(1280, 900)


def make(program, which, directory):
    own = os.path.join(directory, which)
    os.mkdir(own)
    subprocess.run([program, which, own], check=True)
    return os.path.join(own, "page.html")


def main():
    if not os.path.exists(CHROMIUM) or not os.path.exists(DRIVER):
        print("skipped: Chromium and its driver are not installed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        pages = {which: make(sys.argv[1], which, directory) for which in ("small", "big", "empty")}
        b = Browser(directory)
        try:
            check_small(b, pages["small"])
            check_big(b, pages["big"])
            check_empty(b, pages["empty"])
            check_real(b, sys.argv[2], directory)
            if len(sys.argv) > 3:
                for name, path in pages.items():
                    pictures(b, path, sys.argv[3], name)
        finally:
            b.driver.quit()
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


sys.exit(main())
