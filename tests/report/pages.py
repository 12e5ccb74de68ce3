# SPDX-License-Identifier: Apache-2.0
"""What a page of `dtrain report` says, by a parser of its own, and what a browser makes of it. Prints what is wrong.

    pages.py numbers PAGE RUN          curves and tables of the page against the run's history.jsonl and record.jsonl
    pages.py browser CHROMIUM PAGE...  light and dark, wide and narrow, with a script and without
"""
import json
import os
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "input", "img", "br", "link", "wbr"}
faults = 0


def expect(holds, text):
    global faults
    if not holds:
        faults += 1
        print(text)


# ---- the page, parsed ----

class Report(HTMLParser):
    """figures: id -> {"lines": [(points, path)], "rows": [[number or None]]}; also whether tags close in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.figures, self.figure, self.plot, self.scripts, self.data = [], {}, None, "", 0, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        if tag == "figure" and "chart" in a.get("class", ""):
            self.figure = self.figures.setdefault(a["id"], {"lines": [], "rows": []})
        if tag == "div" and "plot" in a.get("class", ""):
            self.plot = a["class"]
        if tag == "data":
            self.data.append(a["value"])
        if not self.figure:
            return
        if tag == "path" and a["class"].startswith("line") and self.plot == "plot lin":
            self.figure["lines"].append((int(a["data-points"]), a["d"]))
        if tag == "tr":
            self.figure["rows"].append([])
        if tag == "td" or (tag == "th" and a.get("scope") == "row"):
            self.figure["rows"][-1].append(None)
        if tag == "data" and self.figure["rows"]:
            self.figure["rows"][-1][-1] = a["value"]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        if self.open:
            self.open.pop()
        if tag == "figure":
            self.figure = None


def lines_of(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def column(rows, i):
    return [row[i] for row in rows if row and len(row) > i and row[i] is not None]


def same(shown, recorded):
    return [float(x) for x in shown] == [float(x) for x in recorded]


def check_metric(report, history, metric):
    figure = report.figures.get(f"chart-{metric}-epoch")
    expect(figure, f"no chart of {metric}")
    if not figure:
        return
    for i, name in enumerate(key for key in (metric, "val_" + metric) if any(key in line for line in history)):
        values = [line[name] for line in history if name in line]
        expect(same(column(figure["rows"], i + 1), values), f"{name}: the table has {column(figure['rows'], i + 1)}, history.jsonl {values}")
        points, path = figure["lines"][i]
        drawn = len(re.findall("[ML]", path))
        expect(points == drawn == len(values), f"{name}: {points} points are said, {drawn} drawn, {len(values)} recorded")


def check_steps(report, record):
    starts = [i for i, line in enumerate(record) if line["event"] == "start"]
    steps = [line for line in record[starts[-1]:] if line["event"] == "steps"]
    figure = report.figures["chart-loss-step"]
    expect(same(column(figure["rows"], 1), [line["loss"] for line in steps]), "loss by step: other numbers than record.jsonl's")
    expect(figure["lines"][0][0] == len(steps), f"loss by step: {figure['lines'][0][0]} points, {len(steps)} recorded")


def numbers(page, run):
    with open(page, encoding="utf-8") as f:
        report = Report(f.read())
    history = lines_of(os.path.join(run, "history.jsonl"))
    expect(not report.open, f"never closed: {report.open}")
    expect(report.scripts == 1, f"{report.scripts} scripts")
    for metric in [key for key in history[0] if not key.startswith("val_") and key not in ("epoch", "step", "learning_rate")]:
        check_metric(report, history, metric)
    record = lines_of(os.path.join(run, "record.jsonl"))
    check_steps(report, record)
    for key in ("parameters", "train_examples", "replicas", "threads"):
        expect(str(record[0][key]) in report.data, f"{key}: {record[0][key]} is nowhere")


# ---- the page, drawn ----

# Text that leaves its box, but for boxes that scroll; words too pale for their ground.
LOOK = r"""
(function () {
    function rgb(text) { return text.match(/[\d.]+/g).map(Number); }
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
        var box = e.getBoundingClientRect(), shown = words && box.width > 1 && e.checkVisibility() && !e.closest("script");
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
CURVES = "Array.from(document.querySelectorAll('.plot.lin .line')).filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 0).length"
# Two tick labels of one axis that touch.
TICKS = """Array.from(document.querySelectorAll('.plot.lin')).filter(p => { var r = Array.from(p.querySelectorAll('.xt'), e => e.getBoundingClientRect());
    return r.some((x, i) => i > 0 && x.left < r[i - 1].right); }).length"""


def check_look(page, what):
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
        page.evaluate("document.querySelector('.logarithmic').click()")
        shown = page.evaluate("[...document.querySelector('.logarithmic').closest('.chart').querySelectorAll('.plot')].map(p => p.checkVisibility()).join()")
        expect(shown == "false,true", f"{what}: log shows {shown}")


def check_values(page, what):
    """The keyboard walks through the points; what is told is what the table has."""
    page.evaluate("document.querySelector('.chart .plot.lin, .chart .plot.log').focus(); document.querySelectorAll('.chart')[1].querySelector('.plot').focus()")
    page.key("End")
    tip = page.evaluate("(document.querySelector('.tip') || {}).textContent || ''")
    last = page.evaluate("[...document.querySelectorAll('.chart')[1].querySelectorAll('tbody tr:last-child td data')].map(e => e.textContent).join()")
    expect(last and all(word in tip for word in last.split(",")), f"{what}: the tip says '{tip}', the table '{last}'")
    page.key("Escape")
    expect(not page.evaluate("!!document.querySelector('.tip')"), f"{what}: the tip stays")


def browser(program, pages):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from chromium import Browser
    with Browser(program) as b:
        for path in pages:
            grounds, curves = [], set()
            for width, dark in ((1280, False), (1280, True), (360, False), (360, True)):
                what = f"{os.path.basename(path)}, {width}, {'dark' if dark else 'light'}"
                page = b.open(path, width=width, dark=dark)
                check_look(page, what)
                grounds.append(page.evaluate(GROUND))
                curves.add(page.evaluate(CURVES))
            check_values(page, what)
            check_switches(b.open(path), os.path.basename(path))
            plain = b.open(path, script=False)
            curves.add(plain.evaluate(CURVES))
            expect(len(set(grounds)) == 2 and grounds[0] != grounds[1], f"{path}: light and dark are {grounds}")
            expect(len(curves) == 1 and 0 not in curves, f"{path}: curves that are seen: {curves}")


if sys.argv[1] == "numbers":
    numbers(*sys.argv[2:])
else:
    browser(sys.argv[2], sys.argv[3:])
sys.exit(1 if faults else 0)
