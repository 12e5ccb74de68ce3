# SPDX-License-Identifier: Apache-2.0
"""What a page of `dtrain report` says, by a parser of its own, and what a browser makes of it. Prints what is wrong.

    pages.py numbers PAGE RUN          the data in the page against the run's history.jsonl and record.jsonl
    pages.py browser CHROMIUM PAGE...  light and dark, wide and narrow, with a script and without
    pages.py words CHROMIUM PAGE       prints what a reader reads
    pages.py titles CHROMIUM PAGE      prints the titles of the table of all runs
"""
import json
import math
import os
import sys
from html.parser import HTMLParser

VOID = {"meta", "input", "img", "br", "link", "wbr"}
faults = 0


def expect(holds, text):
    global faults
    if not holds:
        faults += 1
        print(text)


# ---- the data in the page ----

class Report(HTMLParser):
    """tags that close in order, and the JSON between those of the first script."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.scripts, self.text = [], 0, ""
        self.feed(text)
        self.close()
        self.run = json.loads(self.text)["runs"][0]

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        if self.open:
            self.open.pop()

    def handle_data(self, data):
        if self.scripts == 1 and self.open and self.open[-1] == "script":
            self.text += data


def lines_of(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def numbers(page, run):
    with open(page, encoding="utf-8") as f:
        report = Report(f.read())
    history, record = lines_of(os.path.join(run, "history.jsonl")), lines_of(os.path.join(run, "record.jsonl"))
    expect(not report.open, f"never closed: {report.open}")
    expect(report.scripts == 2, f"{report.scripts} scripts")
    metrics = {key for line in history for key in line} - {"epoch", "step", "crc32c"}
    expect(set(report.run["by_epoch"]) == metrics, f"curves of {set(report.run['by_epoch'])}, not of {metrics}")
    for name in metrics:
        values, curve = [line[name] for line in history if name in line], report.run["by_epoch"][name]
        expect(curve["y"] == values, f"{name}: the page has {curve['y']}, history.jsonl {values}")
        expect(len(curve["x"]) == len(values), f"{name}: {len(curve['x'])} places")
        if name != "learning_rate":
            expect(report.run["figures"][name]["last"] == values[-1], f"{name}: the last value is {report.run['figures'][name]}")
    starts = [i for i, line in enumerate(record) if line["event"] == "start"]
    steps = [line for line in record[starts[-1]:] if line["event"] == "steps"]
    for name in ("loss", "loss_min", "loss_max", "learning_rate"):
        expect(report.run["by_step"][name]["y"] == [line[name] for line in steps], f"{name} by step: other numbers than record.jsonl's")
    for name in ("n", "seconds"):
        expect(math.isclose(report.run["steps"][name], sum(line[name] for line in steps), rel_tol=1e-12), f"{name}: the sum is {report.run['steps'][name]}")
    for key in ("parameters", "train_examples", "replicas", "threads"):
        expect(report.run["start"][key] == record[0][key], f"{key}: not {record[0][key]}")


# ---- the page, drawn ----

SECTIONS = "summary curves model speed memory placement job data environment checkpoints events"

# Text that leaves its box, but for boxes that scroll; words too pale for their ground.
LOOK = r"""
(function () {
    function rgb(text) { // of color-mix: color(srgb 0.1 0.2 0.3)
        var all = text.match(/[\d.e-]*\d/g).map(Number);
        return text.startsWith('color') ? all.map((v, i) => i < 3 ? 255 * v : v) : all;
    }
    function light(c) {
        var x = c.slice(0, 3).map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
        return 0.2126 * x[0] + 0.7152 * x[1] + 0.0722 * x[2];
    }
    function ground(e) {
        for (; e; e = e.parentElement) {
            var c = rgb(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.5) { return c; }
        }
        return [255, 255, 255];
    }
    var wrong = [];
    document.querySelectorAll("body *").forEach(function (e) {
        var words = Array.from(e.childNodes).some(function (n) { return n.nodeType === 3 && n.textContent.trim(); });
        var box = e.getBoundingClientRect(), shown = words && box.width > 1 && e.checkVisibility() && !e.closest("script, noscript");
        if (!shown) { return; }
        var name = e.tagName + "." + e.className + " '" + e.textContent.slice(0, 40) + "'";
        if (!e.closest(".scroll, .config") && (box.right > innerWidth + 1 || box.left < -1)) { wrong.push("leaves the page: " + name); }
        var a = light(rgb(getComputedStyle(e).color)), b = light(ground(e)), contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) { wrong.push("contrast " + contrast.toFixed(2) + ": " + name); }
    });
    var wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) { wrong.push("the page is " + wide + " wide, its window " + innerWidth); }
    return wrong.slice(0, 5).join("\n");
})()
"""
GROUND = "getComputedStyle(document.documentElement).backgroundColor"
# Sections, each with something in it; of each curve as many points as are drawn.
PARTS = "Array.from(document.querySelectorAll('main > section')).filter(e => e.children.length > 1).map(e => e.id).join(' ')"
POINTS = """Array.from(document.querySelectorAll('.line')).filter(e => (e.getAttribute('d').match(/[ML]/g) || []).length != e.dataset.points).length"""
# Elements that no page of ours has, and attributes that are code.
FOREIGN = """Array.from(document.querySelectorAll('*')).filter(e => e.matches('script ~ script ~ script, i, iframe') || (e.localName === 'img' && !e.src.startsWith('data:image/svg+xml,'))
    || Array.from(e.attributes).some(a => a.name.startsWith('on'))).length"""
CURVES = "Array.from(document.querySelectorAll('.plot .line')).filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 0).length"
TICK_WORDS = "[...document.querySelector('.logarithmic').closest('.chart').querySelectorAll('.yt')].map(e => e.textContent).join()"
# The looks of the curves of the loss, which are colours, and other dots behind the last colour; and of how many runs the page is.
COLOURS = "new Set([...document.querySelectorAll('#chart-loss-epoch .line')].map(e => [...e.classList].filter(c => /^[cm][0-9]/.test(c)).join())).size"
STROKES = "[...document.querySelectorAll('#chart-loss-epoch .line')].map(e => getComputedStyle(e).stroke).join(' ')"
# Tables that a reader would have to push sideways.
CUT = """Array.from(document.querySelectorAll('.scroll, .config')).filter(e => e.checkVisibility() && !e.closest('.numbers') && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.getAttribute('aria-label') + ' ' + e.scrollWidth + ' of ' + e.clientWidth).join()"""
RUNS = "JSON.parse(document.getElementById('data').textContent).runs.length"
# Two tick labels of one axis that touch.
TICKS = """Array.from(document.querySelectorAll('.plot')).filter(p => { var r = Array.from(p.querySelectorAll('.xt'), e => e.getBoundingClientRect());
    return r.some((x, i) => i > 0 && x.left < r[i - 1].right); }).length"""


def check_look(page, what):
    expect(page.evaluate(FOREIGN) == 0, f"{what}: markup out of a file")
    expect(page.evaluate(POINTS) == 0, f"{what}: other points are drawn than are said")
    expect(not page.complaints, f"{what}: the console says {page.complaints}")
    expect(all(url.startswith(("file:", "data:")) for url in page.requests), f"{what}: asks for {page.requests}")
    wrong = page.evaluate(LOOK)
    expect(not wrong, f"{what}: {wrong}")
    expect(page.evaluate(TICKS) == 0, f"{what}: labels of an axis touch")


def check_switches(page, what):
    before = page.evaluate(GROUND)
    page.evaluate("document.querySelector('#theme-dark').click()")
    expect(page.evaluate(GROUND) != before, f"{what}: the switch to dark changes nothing")
    page.evaluate("document.querySelector('#theme-auto').click()")
    expect(page.evaluate(GROUND) == before, f"{what}: the switch does not go back")
    if page.evaluate("!!document.querySelector('.logarithmic')"):
        words = page.evaluate(TICK_WORDS)
        page.evaluate("document.querySelector('.logarithmic').click()")
        after = page.evaluate(TICK_WORDS)
        expect(words and after and words != after, f"{what}: log leaves {after}")


def check_values(page, what):
    """The keyboard walks through the points; what is told is what the table has."""
    page.evaluate("document.querySelector('.chart .plot').focus(); document.querySelectorAll('.numbers').forEach(e => { e.open = true; }); document.querySelectorAll('.chart')[1].querySelector('.plot').focus()")
    page.evaluate("new Promise(done => setTimeout(done, 100))")  # tables are made when they are opened
    page.key("End")
    tip = page.evaluate("(document.querySelector('.tip') || {}).textContent || ''")
    last = page.evaluate("[...document.querySelectorAll('.chart')[1].querySelectorAll('tbody tr:last-child td data')].map(e => e.textContent).join()")
    told = page.evaluate("[...document.querySelectorAll('.tip output')].map(e => e.textContent)")
    values = last.split(",") if last else []
    holds = all(word in tip for word in values) if len(values) <= 10 else len(told) == 10 and set(told) <= set(values)
    expect(last and holds, f"{what}: the tip says '{tip}', the table '{last}'")
    for key in ("Home", "PageDown", "ArrowLeft", "End"):
        page.key(key)
        inside = page.evaluate("(r => r.left >= 0 && r.right <= innerWidth)(document.querySelector('.tip').getBoundingClientRect())")
        expect(inside, f"{what}: the tip leaves the page after {key}")
    page.key("Escape")
    expect(not page.evaluate("!!document.querySelector('.tip')"), f"{what}: the tip stays")


ROWS = "[...document.querySelectorAll('.compare tbody tr')].map(e => Number(e.children[{0}].querySelector('data').value))"
TITLES = "[...document.querySelectorAll('.compare .sort')].map(e => e.textContent)"


def check_comparison(page, what):
    """Titles sort, best values first; the best run is marked; a run that is pressed in the legend is hidden."""
    at = page.evaluate(TITLES).index("val_loss")
    rows = ROWS.replace("{0}", str(at))
    before, press = page.evaluate(rows), f"document.querySelectorAll('.compare .sort')[{at}].click()"
    page.evaluate(press)
    expect(page.evaluate(rows) == sorted(before), f"{what}: sorted by val_loss are {page.evaluate(rows)}")
    best = page.evaluate("[...document.querySelectorAll('.compare tbody tr')].map(e => !!e.querySelector('.best')).join()")
    expect(best == ",".join(["true"] + ["false"] * (len(before) - 1)), f"{what}: marked as best, by val_loss: {best}")
    page.evaluate(press)
    expect(page.evaluate(rows) == sorted(before, reverse=True), f"{what}: sorted back are {page.evaluate(rows)}")
    page.evaluate("(e => { e.selectedIndex = 0; e.dispatchEvent(new Event('change')); })(document.querySelector('.sorting select'))")
    expect(page.evaluate(rows) == before, f"{what}: as named are {page.evaluate(rows)}")
    seen = "[...new Set([...document.querySelectorAll('.line')].map(e => e.dataset.run))].sort().join()"
    all_runs = page.evaluate(seen)
    page.evaluate("document.querySelector('.runs button').click()")
    expect(page.evaluate(seen) == all_runs.replace("0,", "", 1), f"{what}: without the first run there are {page.evaluate(seen)}")
    page.evaluate("document.querySelector('.runs button').click()")
    expect(page.evaluate(seen) == all_runs, f"{what}: with all runs there are {page.evaluate(seen)}")
    hidden = page.evaluate("document.querySelector('.runs .training').getAttribute('aria-pressed')")
    expect(hidden == ("false" if len(before) > 8 else "true"), f"{what}: curves of training are shown: {hidden}")


def browsers():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from chromium import Browser
    return Browser


def browser(program, pages):
    with browsers()(program) as b:
        for path in pages:
            grounds, curves, parts, strokes = [], set(), set(), set()
            for width, dark in ((1400, False), (1400, True), (1000, False), (768, False), (390, False), (390, True)):
                what = f"{os.path.basename(path)}, {width}, {'dark' if dark else 'light'}"
                page = b.open(path, width=width, dark=dark)
                check_look(page, what)
                grounds.append(page.evaluate(GROUND))
                curves.add(page.evaluate(CURVES))
                parts.add(page.evaluate(PARTS))
                strokes.add(page.evaluate(STROKES))
                expect(not page.evaluate(CUT), f"{what}: cut are {page.evaluate(CUT)}")
            runs = page.evaluate(RUNS)
            expect(len(strokes) == 1, f"{path}: runs have other colours elsewhere: {strokes}")
            if runs > 1:
                check_comparison(page, what)
            expect(page.evaluate(COLOURS) == max(runs, 2), f"{path}: {page.evaluate(COLOURS)} colours of {runs} runs")  # one: training and validation
            check_values(page, what)
            check_switches(b.open(path), os.path.basename(path))
            plain = b.open(path, script=False)
            rows = plain.evaluate("Array.from(document.querySelectorAll('noscript td')).filter(e => e.checkVisibility() && e.textContent).length")
            expect(rows > 0 and not plain.evaluate(LOOK), f"{path}: without a script {rows} values are seen; {plain.evaluate(LOOK)}")
            parts = {part.replace(" evaluation", "") for part in parts}
            expect(parts in ({SECTIONS}, {SECTIONS.replace("curves", "curves differences")}), f"{path}: sections {parts}")
            expect(len(set(grounds)) == 2 and grounds[0] != grounds[1], f"{path}: light and dark are {grounds}")
            expect(len(curves) == 1 and 0 not in curves, f"{path}: curves that are seen: {curves}")


def words(program, path, expression):
    with browsers()(program) as b:
        print(b.open(path).evaluate(expression))


if sys.argv[1] == "numbers":
    numbers(*sys.argv[2:])
elif sys.argv[1] in ("words", "titles"):
    words(*sys.argv[2:], "document.body.innerText" if sys.argv[1] == "words" else TITLES + ".join('\\n')")
else:
    browser(sys.argv[2], sys.argv[3:])
sys.exit(1 if faults else 0)
