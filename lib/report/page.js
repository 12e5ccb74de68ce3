// SPDX-License-Identifier: Apache-2.0
// A report is drawn here, from the JSON in the page (gather.c): sections with their facts, tables and charts. Runs are data of somebody else: what they hold
// gets into the document by put() alone, as text.
"use strict";
const { runs, dtrain } = JSON.parse(document.getElementById("data").textContent);
const several = runs.length > 1;

// What a record says may be of any type: `own` is a text, a number or nothing; `inner` a tree or a list.
const inner = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);
const own = (object, key) => (typeof inner(object, key) === "object" ? undefined : inner(object, key));
const start = (run, key) => own(run.start, key);
const host = (run, key) => own(inner(run.start, "host"), key);

// ---- elements ----

// Characters that are not seen, or turn the direction of reading, as they are written in C.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffe\uffff]/gu;
const visible = (text) => String(text).replace(unseen, (c) => {
    const code = c.codePointAt(0), hex = code.toString(16);
    return c === "\n" || c === "\t" ? c : code < 0x100 ? "\\x" + hex.padStart(2, "0") : "\\u" + hex.padStart(4, "0");
});

function put(parent, ...kids) {
    for (const kid of kids.flat(Infinity)) {
        if (kid instanceof Node) {
            parent.append(kid);
        } else if (kid !== null && kid !== undefined && kid !== false) {
            parent.append(visible(kid));
        }
    }
    return parent;
}

// h("p.note", "text", h("b", "more")): kids that are null or false are none.
function h(name, ...kids) {
    const [tag, ...classes] = name.split("."), made = document.createElement(tag);
    made.className = classes.join(" ");
    return put(made, kids);
}

function set(element, attributes) {
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
}

const drawn = (name, attributes) => set(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
const scroll = (label, ...kids) => set(h("div.scroll", kids), { tabindex: 0, role: "region", "aria-label": label });
const colour = (i) => "c" + i % 8;
const nameOf = (run) => h("span.run." + colour(runs.indexOf(run)), run.label);
const table = (kind, titles, rows, caption) => h("table." + kind, caption && h("caption", caption),
    titles && h("thead", h("tr", titles.map((title) => set(h("th", title), { scope: "col" })))), h("tbody", rows));

// ---- numbers: for people, and as they were recorded ----

const data = (value, text) => set(h("data", text), { value });
const wide = (columns, ...kids) => set(h("td", kids), { colspan: columns });
const head = (...kids) => set(h("th", kids), { scope: "row" });
const grouped = (n) => Math.round(n).toLocaleString("en");

function short(x) {
    const size = Math.abs(x);
    if (x === null || x === undefined || Number.isNaN(x)) { return "NaN"; }
    if (size > 0 && (size < 1e-4 || size >= 1e6)) { return x.toExponential(2).replace(/\.?0+e/, "e").replace(/(e.)(\d)$/, "$10$2"); } // as C: 1e-05
    if (size > 0 && size < 1e-3) { return String(Number(x.toPrecision(3))); }
    return size >= 1000 ? grouped(x) : x.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 4);
}
const number = (x) => data(x === null ? "NaN" : x, short(x));

// Whole ones, not below 0, which is what is recorded; nothing for anything else.
const whole = (n) => (Number.isInteger(n) && n >= 0 ? Math.min(n, 2 ** 53) : null);
const count = (n) => whole(n) !== null && data(n, grouped(n));

function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let size = n, unit = 0;
    while (unit < units.length - 1 && size >= (unit ? 1023.95 : 1024)) { size /= 1024; unit++; }
    return typeof n === "number" && n > 0 && data(n, size.toFixed(unit ? 1 : 0) + " " + units[unit]);
}

function seconds(s) {
    const two = (n) => String(n).padStart(2, "0"), all = Math.round(s);
    const text = !(s >= 0) ? short(s) : s < 1e-3 ? (s * 1e6).toFixed(0) + " µs"
        : s < 1 ? (s * 1e3).toFixed(s < 0.01 ? 2 : s < 0.1 ? 1 : 0) + " ms" : s < 60 ? s.toFixed(1) + " s"
            : s < 3600 ? Math.floor(all / 60) + " min " + two(all % 60) + " s" : Math.floor(all / 3600) + " h " + two(Math.floor(all % 3600 / 60)) + " min";
    return data(s, text);
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const time = (text) => (iso.test(text) ? set(h("time", text.slice(0, 10) + " " + text.slice(11, 19) + " UTC"), { datetime: text }) : text);
const moment = (s) => s > 0 && s < 1e11 && time(new Date(s * 1e3).toISOString().slice(0, 19) + "Z");
const hash = (hex) => hex && h("code.hash", hex);
const times = (n, word) => grouped(n) + " " + word + (n === 1 ? "" : "s");

// ---- facts: a row each, a column a run; rows that differ are marked, rows without anything left out ----

function facts(...rows) {
    const made = rows.map(([label, of]) => [label, runs.map((run) => put(h("td"), of(run)))]).filter(([, cells]) => cells.some((cell) => cell.innerHTML));
    const marked = made.map(([label, cells]) => h(cells.some((cell) => cell.innerHTML !== cells[0].innerHTML) ? "tr.differs" : "tr",
        head(label), cells.map((cell) => (cell.innerHTML ? cell : h("td", "–")))));
    return made.length > 0 && scroll("facts", table("facts", several && ["", ...runs.map(nameOf)], marked));
}

// ---- axes ----

const far = 1e300; // beyond this a difference of two might not be a number
const isSeen = (y, log) => y !== null && Math.abs(y) < far && (!log || y > 0);

function range(values) {
    const seen = values.filter((v) => isSeen(v));
    const least = seen.reduce((a, b) => Math.min(a, b), Infinity), most = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    return { least, most, positive: seen.reduce((a, b) => (b > 0 && b < a ? b : a), Infinity) };
}

// Ticks are 1, 2 or 5 times a power of ten apart.
function linear(least, most, ticks, whole) {
    const span = most - least > Math.abs(most) * 1e-12 ? most - least : Math.abs(most) || 1; // one value alone stands in the middle
    const raw = span / ticks, power = 10 ** Math.floor(Math.log10(raw)), m = raw / power;
    const nice = power * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10), step = whole ? Math.max(1, Math.round(nice)) : nice;
    const pad = most > least ? 0 : whole ? 1 : span / 2, from = least - pad, to = most + pad, first = Math.ceil(from / step - 1e-9), at = [];
    for (let i = 0; i < 12; i++) {
        const t = (first + i) * step;
        if (t <= to + step * 1e-9 && (!whole || (t >= least && t <= most))) { at.push(t); }
    }
    return { step, ticks: at, part: (v) => (v - from) / (to - from), value: (part) => from + part * (to - from) };
}

// A little air above and below.
function linearY({ least, most }, fromZero) {
    const air = 0.04 * (most - least), low = fromZero ? Math.min(0, least) : least - air;
    return linear(least >= 0 ? Math.max(low, 0) : low, fromZero && most <= 0 ? 1 : most + air, 5, false);
}

// Powers of ten, with 2 and 5 of them where there are few.
function logarithmic({ positive, most }) {
    const air = 0.04 * Math.log10(most / positive), from = Math.log10(positive) - air, to = Math.log10(most) + air, at = [];
    const decades = to - from - 2 * air, every = Math.max(1, Math.ceil(decades / 6));
    for (let d = Math.floor(from); d <= to; d += every) {
        for (const few of decades <= 3 ? [1, 2, 5] : [1]) {
            const l = d + Math.log10(few);
            if (l >= from && l <= to) { at.push(few * 10 ** d); }
        }
    }
    return { step: 0, ticks: at.slice(0, 12), log: true, part: (v) => (Math.log10(v) - from) / (to - from) };
}

function tick(x, step) {
    const decimals = step > 0 && step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    if (Math.abs(x) < step * 1e-6) { return "0"; }
    if (step === 0 || Math.abs(x) >= 1e7 || decimals > 5) { return Math.abs(x) < 1e-4 ? Number(x.toPrecision(6)).toExponential() : String(Number(x.toPrecision(6))); }
    if (step >= 2e5) { return (x / 1e6).toFixed(step < 1e6 ? 1 : 0) + " M"; }
    return Math.abs(x) >= 1000 ? grouped(x) : x.toFixed(decimals);
}

// ---- curves ----

// Exponential, its beginning corrected, as it is usual for curves of training; of a thinned one from the means of its stretches.
function smoothed({ x, y, mean_x, mean }) {
    const xs = mean_x || x, ys = mean || y, weight = xs.length > 200 ? 0.95 : 0.8, points = { x: [], y: [] };
    let sum = 0, correction = 0;
    ys.forEach((v, i) => {
        if (!isSeen(v)) { return; }
        sum = weight * sum + (1 - weight) * v;
        correction = weight * correction + (1 - weight);
        points.x.push(xs[i]);
        points.y.push(sum / correction);
    });
    return points;
}

const place = (part) => (1000 * part).toFixed(1);

// Breaks where there is no number. dots: each by itself.
function path({ x, y }, axes, dots) {
    let text = "", on = false;
    y.forEach((v, i) => {
        const seen = isSeen(v, axes.y.log);
        if (seen) { text += (on && !dots ? "L" : "M") + place(axes.x.part(x[i])) + " " + place(1 - axes.y.part(v)) + (dots ? "h0" : ""); }
        on = seen;
    });
    return text;
}

// There along the greatest, back along the least.
function band({ least, most }, axes) {
    const side = ({ x, y }) => x.map((v, i) => [v, y[i]]).filter(([, v]) => isSeen(v))
        .map(([v, w]) => place(axes.x.part(v)) + " " + place(axes.y.log && w <= 0 ? 1 : Math.min(1, Math.max(0, 1 - axes.y.part(w)))));
    return "M" + [...side(most), ...side(least).reverse()].join("L") + "Z";
}

function drawCurve(svg, curve, axes, chart) {
    const { line } = curve, kind = colour(curve.colour) + (curve.dashed ? " dashed" : ""), add = (name, d) => svg.append(drawn("path", { class: name, d }));
    if (curve.least && curve.most) { add("band " + colour(curve.colour), band(curve, axes)); }
    const mean = chart.smooth.checked && canSmooth(curve);
    add("line " + kind + (mean ? " faint" : ""), path(line, axes));
    svg.lastChild.dataset.points = line.y.filter((v) => isSeen(v, axes.y.log)).length;
    if (line.y.length <= 60) { add("dots " + colour(curve.colour), path(line, axes, true)); }
    if (mean) { add("mean " + kind, path(smoothed(line), axes)); }
    line.y.forEach((v, i) => { // where a value is no number, or infinite: a stroke at the foot
        if (isSeen(v)) { return; }
        add("gap", "M" + place(axes.x.part(line.x[i])) + " 1000V940");
        svg.lastChild.append(put(drawn("title", {}), short(v) + " at " + chart.x + " " + line.x[i]));
    });
}

// ---- charts ----

const canSmooth = ({ line }) => (line.of || line.y.length) > 20;

function draw(chart) {
    const { curves, plot } = chart, all = (key) => curves.flatMap(({ line, least, most }) => [line, least, most].flatMap((s) => (s ? s[key] : [])));
    const xs = range(all("x")), seen = range(all("y")), ys = seen.most >= seen.least ? seen : { least: 0, most: 1, positive: Infinity };
    const axes = { x: linear(xs.least, xs.most, 6, true), y: chart.log.checked ? logarithmic(ys) : linearY(ys, chart.fromZero) };
    const words = curves.map(({ label, line }) => label + " from " + short(line.y[0]) + " to " + short(line.y.at(-1)));
    const svg = drawn("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", role: "img" });
    const label = (kind, side, part, text) => { const made = h("span." + kind, text); made.style[side] = 100 * part + "%"; return made; };
    svg.setAttribute("aria-label", visible(chart.title + " by " + chart.x + ": " + words.join("; ")));
    svg.append(drawn("path", { class: "grid", d: axes.y.ticks.map((t) => "M0 " + place(1 - axes.y.part(t)) + "H1000").join("") }));
    curves.forEach((curve) => drawCurve(svg, curve, axes, chart));
    chart.axes = axes;
    plot.replaceChildren();
    put(plot, svg, axes.y.ticks.map((t) => label("yt", "top", 1 - axes.y.part(t), tick(t, axes.y.step))),
        axes.x.ticks.map((t) => label(axes.x.part(t) > 0.97 ? "xt.end" : "xt", "left", axes.x.part(t), tick(t, axes.x.step))), h("span.xl", chart.x));
}

// A row for each x that any curve has: [x, a value of each curve or undefined].
function rowsOf(curves) {
    const at = curves.map(({ line }) => new Map(line.x.map((x, i) => [x, line.y[i]])));
    return [...new Set(curves.flatMap(({ line }) => line.x))].sort((a, b) => a - b).map((x) => [x, at.map((points) => points.get(x))]);
}

function numbers(chart) {
    const of = Math.max(...chart.curves.map(({ line }) => line.of || 0)), made = h("details.numbers", h("summary", "Numbers"));
    made.addEventListener("toggle", () => {
        if (made.children.length > 1) { return; }
        const rows = chart.rows.map(([x, values]) => h("tr", head(data(x, grouped(x))), values.map((y) => h("td", y !== undefined && number(y)))));
        const all = table("", [chart.x, ...chart.curves.map(({ label }) => label)], rows);
        all.prepend(h("caption.unseen", chart.title));
        put(made, of > 0 && h("p.note", "Of ", count(of), " points, the minimum and maximum of each interval."), scroll("numbers", all));
    });
    return made;
}

// The value under the pointer; the arrow keys walk from point to point.
function watch(chart) {
    const { plot, curves, rows } = chart, keys = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    const tip = set(h("div.tip"), { role: "status" }), cross = drawn("path", { class: "cross" });
    let at = 0;
    const hide = () => { tip.remove(); cross.remove(); };
    const show = (index) => {
        at = Math.max(0, Math.min(rows.length - 1, index));
        const part = chart.axes.x.part(rows[at][0]);
        tip.replaceChildren(h("b", chart.x + " " + grouped(rows[at][0])));
        put(tip, curves.map((curve, i) => rows[at][1][i] !== undefined
            && h("div." + colour(curve.colour), h("span", curve.label), h("output", short(rows[at][1][i])))));
        tip.style.left = part < 0.5 ? "calc(" + 100 * part + "% + 10px)" : "auto";
        tip.style.right = part < 0.5 ? "auto" : "calc(" + 100 * (1 - part) + "% + 10px)";
        cross.setAttribute("d", "M" + 1000 * part + " 0V1000");
        plot.append(tip);
        plot.querySelector("svg").append(cross);
    };
    plot.addEventListener("pointermove", (event) => {
        const box = plot.getBoundingClientRect(), x = chart.axes.x.value((event.clientX - box.left) / box.width);
        const above = rows.findIndex((row) => row[0] >= x), i = above < 0 ? rows.length - 1 : above;
        show(i > 0 && x - rows[i - 1][0] < rows[i][0] - x ? i - 1 : i);
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("focus", () => show(at));
    plot.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { hide(); }
        if (!Object.hasOwn(keys, event.key)) { return; }
        event.preventDefault();
        show(at + keys[event.key]);
    });
}

// {id, title, x, curves: [{label, colour, dashed, line, least, most}]}; optional: note, fromZero, wide, smooth. A curve without points is none.
function makeChart(given) {
    const chart = { ...given, curves: given.curves.filter(({ line }) => line && line.x.length > 0) };
    const { curves } = chart, ys = range(curves.flatMap(({ line }) => line.y));
    if (curves.length === 0) { return null; }
    const box = (on) => { const made = set(h("input"), { type: "checkbox" }); made.checked = on; made.addEventListener("change", () => draw(chart)); return made; };
    const canLog = Number.isFinite(ys.positive) && ys.most / ys.positive > 3;
    chart.smooth = box(curves.some(canSmooth) && (chart.smooth || curves.some(({ line }) => line.of > 0)));
    chart.log = box(false);
    chart.rows = rowsOf(curves);
    chart.plot = set(h("div.plot"), { tabindex: 0, role: "group", "aria-label": "values: arrow keys" });
    chart.figure = h(chart.wide ? "figure.chart.wide" : "figure.chart",
        h("figcaption", h("div.caption", h("h3", chart.title), h("span.switches", curves.some(canSmooth) && h("label.switch.smooth", chart.smooth, " smooth"),
            canLog && h("label.switch.logarithmic", chart.log, " log"))),
        chart.note && h("p.note", chart.note),
        h(curves.length === 1 && curves[0].label === chart.title ? "ul.legend.alone" : "ul.legend",
            curves.map((curve) => h("li." + colour(curve.colour) + (curve.dashed ? ".dashed" : ""), curve.label)))),
        chart.plot, numbers(chart));
    chart.figure.id = "chart-" + chart.id.slice(0, 120);
    draw(chart);
    watch(chart);
    return chart.figure;
}

function charts(given) {
    const made = given.map(makeChart).filter(Boolean);
    return made.length > 0 && h("div.charts", made);
}

// ---- metrics ----

const isValidation = (name) => name.startsWith("val_");
const base = (name) => (isValidation(name) ? name.slice(4) : name);
const each = (names) => [...new Set(names)];
const metrics = each(runs.flatMap((run) => Object.keys(run.figures))).sort((a, b) => isValidation(b) - isValidation(a)); // validation first

// "f1_score_0 (iris)", where the run's record knows of which class a metric is. Runs that are compared may have other classes; then its name alone.
function titleOf(metric, of = runs) {
    const titles = each(of.filter((run) => inner(run.by_epoch, metric)).map((run) => {
        const known = own(inner(run.start, "classes"), base(metric));
        return metric + (known ? " (" + known + ")" : "");
    }));
    return titles.length === 1 ? titles[0] : metric;
}

// Alone, training and validation have a colour each; among others a run has one, and validation is dashed.
function curve(run, list, name) {
    const validation = isValidation(name), what = validation ? "validation" : "training", i = runs.indexOf(run);
    return { label: several ? run.label + ", " + what : what, colour: several ? i : Number(validation), dashed: several && validation, line: inner(run[list], name) };
}

// ---- sections ----

const badge = (run) => h("span.badge." + run.tone, run.outcome);
const breaks = (name) => name.split("_").flatMap((part, i) => (i ? ["_", h("wbr"), part] : [part])); // a long name may break behind its underscores
// A run that ended with the weights of an earlier epoch is shown by the metrics of that epoch.
const shown = (figure) => figure.kept === undefined ? figure.last : figure.kept;
const notes = (figure) => [
    figure.kept !== undefined && "weights of epoch " + grouped(figure.kept_epoch) + "; last " + short(figure.last),
    figure.best !== undefined && figure.best !== shown(figure) && "best " + short(figure.best) + " in epoch " + grouped(figure.epoch),
].filter(Boolean);

function tiles(run) {
    const tile = (label, value, below) => h("div.tile", h("dt", breaks(label)), h("dd", value), below && h("dd.below", below)), wanted = whole(start(run, "steps"));
    return h("dl.tiles", metrics.map((name) => {
        const figure = run.figures[name];
        return tile(titleOf(name), number(shown(figure)), notes(figure).join("; ")
            || figure.best !== undefined && figure.points > 1 && "best");
    }),
    tile("steps", count(run.step), wanted > run.step ? "of " + grouped(wanted) + " requested" : run.start && times(whole(start(run, "epochs")) || 0, "epoch")),
    run.attempts.length > 0 && tile("time", seconds(run.seconds),
        run.seconds > 0 && (100 * Math.min(1, run.epochs.wall_s / run.seconds)).toFixed(0) + " % in training steps"),
    count(start(run, "parameters")) && tile("parameters", count(start(run, "parameters"))));
}

function comparison() {
    const cell = (figure) => h("td", figure && number(shown(figure)), figure && notes(figure).map((note) => [h("br"), h("small", note)]));
    return scroll("metrics of all runs", table("compare", ["run", "outcome", "steps", "time", ...metrics.map((name) => titleOf(name))],
        runs.map((run) => h("tr", head(nameOf(run)),
            h("td", badge(run)), h("td", count(run.step)), h("td", run.attempts.length > 0 && seconds(run.seconds)), metrics.map((name) => cell(inner(run.figures, name)))))));
}

function summary() {
    return [several && comparison(),
        runs.map((run) => (!several || run.why) && h("p.outcome", several && nameOf(run), badge(run), " " + run.why)),
        !several && tiles(runs[0]),
        runs.map((run) => [run.remarks.map((text) => h("p.remark", several && [nameOf(run), " "], text)),
            run.remarks_in_all > run.remarks.length && h("p.remark", "and " + grouped(run.remarks_in_all - run.remarks.length) + " more")])];
}

function curves() {
    const names = (list) => each(runs.flatMap((run) => Object.keys(run[list]).map(base)));
    const byEpoch = names("by_epoch").filter((name) => name !== "learning_rate").map((name) => ({ id: name + "-epoch", title: titleOf(name), x: "epoch",
        curves: runs.flatMap((run) => [curve(run, "by_epoch", name), curve(run, "by_epoch", "val_" + name)]) }));
    const loss = { id: "loss-step", title: "loss by step", x: "step", wide: true, smooth: several,
        note: !several && "Each point is the mean of several steps; the band shows their minimum and maximum.",
        curves: runs.flatMap((run) => [{ ...curve(run, "by_step", "loss"), ...(several ? {} : { least: inner(run.by_step, "loss_min"), most: inner(run.by_step, "loss_max") }) },
            curve(run, "by_step", "val_loss")]) };
    // Validation between the ends of epochs is nowhere else.
    const points = (line) => (line ? line.of || line.x.length : 0);
    const finer = names("by_step").filter((name) => name !== "loss"
        && runs.some((run) => points(inner(run.by_step, "val_" + name)) > points(inner(run.by_epoch, "val_" + name))));
    return [charts([...byEpoch, loss, ...finer.map((name) => ({ id: name + "-step", title: titleOf(name) + " by step", x: "step",
        curves: runs.map((run) => curve(run, "by_step", "val_" + name)) }))])];
}

function differences() {
    if (!several) { return []; }
    const keys = each(runs.flatMap((run) => Object.keys(run.job))).filter((key) => each(runs.map((run) => own(run.job, key))).length > 1);
    if (keys.length === 0) { return [h("p.note", "The jobs are identical.")]; }
    return [scroll("keys that differ", table("diff", ["key", ...runs.map(nameOf)], keys.map((key) => h("tr", head(h("code", key)),
        runs.map((run) => own(run.job, key)).map((value) => (value === undefined ? h("td.none", "not set") : h("td", value)))))))];
}

function speed() {
    const made = charts([
        ["learning_rate", "learning-rate", "learning rate"], ["examples_per_s", "throughput", "examples per second"], ["step_ms", "step-time", "step time, ms"],
        ["waiting_percent", "waiting", "waiting for data, % of step time"], ["virtual_ms", "virtual", "step time on the simulated slice, ms"],
    ].map(([name, id, title]) => ({ id, title, x: "step", fromZero: true,
        curves: runs.map((run, i) => ({ label: several ? run.label : title, colour: i, line: inner(run.by_step, name) })) })));
    const last = (run, name) => { const line = inner(run.by_step, name); return line && line.y.at(-1); }, worked = (run) => run.epochs.wall_s > 0;
    return [facts(["examples per second", (run) => worked(run) && number(run.epochs.examples / run.epochs.wall_s)],
        ["step time", (run) => run.steps.n > 0 && seconds(run.steps.seconds / run.steps.n)],
        ["step time on the simulated slice", (run) => last(run, "virtual_ms") && seconds(last(run, "virtual_ms") / 1e3)],
        ["time in training steps", (run) => worked(run) && seconds(run.epochs.wall_s)],
        ["waiting for data", (run) => worked(run)
            && [seconds(run.epochs.waited_s), " ", h("small", (100 * run.epochs.waited_s / run.epochs.wall_s).toFixed(0) + " %")]],
        ["last learning rate", (run) => last(run, "learning_rate") !== undefined && number(last(run, "learning_rate"))]),
    made && h("p.note", "Step times include waiting for data. They do not include compiling, checkpoints and validation."), made];
}

// Of a parameter server: how old gradients were when they changed the weights.
function workers() {
    const known = (run, of) => run.workers && of(run.workers);
    const updates = (w) => w.staleness.reduce((a, b) => a + b, 0), share = (n, w) => [count(n), " ", h("small", (100 * n / updates(w)).toFixed(1) + " %")];
    const longest = Math.max(0, ...runs.map((run) => (run.workers ? run.workers.staleness.length : 0)));
    const made = facts(["workers at the end", (run) => known(run, (w) => count(w.n))], ["workers lost", (run) => known(run, (w) => count(w.lost))],
        ["batches computed again", (run) => known(run, (w) => count(w.again))], ["gradients dropped, too late", (run) => known(run, (w) => count(w.dropped))],
        ["average staleness", (run) => known(run, (w) => updates(w) > 0 && number(w.staleness.reduce((a, n, i) => a + n * i, 0) / updates(w)))],
        ...Array.from({ length: longest }, (_, i) => ["updates of staleness " + i + (i === 64 ? " or more" : ""),
            (run) => known(run, (w) => w.staleness[i] > 0 && share(w.staleness[i], w))]));
    return [made, made && h("p.note", "The staleness of an update is the number of other updates between its worker's pull of the weights and its push of gradients.")];
}

// Both as bars of one scale; words beside them say the same.
function bars(run) {
    const rows = [["announced", whole(start(run, "memory_bytes"))], ["process, peak", run.peak_rss]], most = Math.max(...rows.map(([, n]) => n));
    const bar = (n, i) => { const made = h("span." + colour(i)); made.style.width = 100 * n / most + "%"; return h("span.bar", made); };
    return most > 0 && set(h("div.bars", rows.map(([label, n], i) => n > 0 && [h("span", label), bar(n, i)])), { "aria-hidden": "true" });
}

function memory() {
    const parts = [["announced before the first step", "memory_bytes"], ["training steps", "steps_bytes"], ["evaluation", "evaluation_bytes"],
        ["weights and optimizer", "state_bytes"], ["data", "data_bytes"], ["program", "program_bytes"]];
    const made = facts(...parts.map(([label, key]) => [label, (run) => bytes(start(run, key))]),
        ["measured: peak of the process", (run) => bytes(run.peak_rss)], ["memory of the machine", (run) => bytes(host(run, "memory_bytes"))]);
    return [made, made && !several && runs[0].start && bars(runs[0]),
        made && h("p.note", "Steps, evaluation, weights and data are counted; the program with its libraries is estimated. "
            + "Measured is the largest resident set of the process.")];
}

// The slice is an image, so that its style is its own.
function placement() {
    const image = (run) => set(h("img"), { alt: visible("replicas on the slice " + start(run, "slice")), src: "data:image/svg+xml," + encodeURIComponent(run.picture) });
    const shape = (run) => { const is = inner(run.start, "computation_shape"); return Array.isArray(is) && is.length > 0 && "[" + is.join(", ") + "]"; };
    const counts = [["replicas", "replicas"], ["logical devices per replica", "logical_devices"], ["computation shape", null], ["input hosts", "hosts"],
        ["compute threads", "threads"], ["global batch", "global_batch"]];
    return [facts(["strategy", (run) => start(run, "strategy")], ["devices", (run) => start(run, "device")],
        ...counts.map(([label, key]) => [label, key ? (run) => count(start(run, key)) : shape])),
    runs.map((run) => run.picture && h("figure.slice", image(run), several && h("figcaption", nameOf(run))))];
}

// `config show --origin`: the origin stands behind the last " # " of a line.
function job() {
    const row = (line) => {
        const at = line.lastIndexOf(" # "), key = at < 0 ? line : line.slice(0, at), origin = at < 0 ? null : line.slice(at + 3);
        return [h(origin === "default" ? "span.row.preset" : "span.row", h("span.say", key.trimEnd()), origin !== null && h("span.from", origin.trimEnd())), "\n"];
    };
    return runs.map((run) => {
        if (!run.config) { return null; }
        const pre = set(h("pre.config", run.config.replace(/\n$/, "").split("\n").map(row)), { tabindex: 0, "aria-label": "the job" });
        const made = h("details", h("summary", nameOf(run)), pre);
        made.open = !several;
        return made;
    });
}

function dataRead() {
    const said = { ends: "; of the first and last 64 KiB of each file", sizes: "; of file sizes only" }, parts = ["train", "validation", "test"];
    const of = (run, part, key) => own(run.data[part], key), sha = (run, part) => run.data[part] && (of(run, part, "sha256") || NaN);
    const cell = (run, part) => run.data[part] && (of(run, part, "sha256") ? [hash(of(run, part, "sha256")), h("br"),
        h("small", times(whole(of(run, part, "files")) || 0, "file"), ", ", bytes(of(run, part, "bytes")), own(said, of(run, part, "hashed")))]
        : h("span.damage", of(run, part, "error")));
    const same = runs.every((run) => ["train", "validation"].every((part) => sha(run, part) === sha(runs[0], part)));
    const first = (part) => [inner(runs[0].data[part], "first") || []].flat(), left = (part) => of(runs[0], part, "files") - first(part).length;
    const files = several ? [] : parts.flatMap((part) => [...first(part).map((f) => h("tr", head(h("code", own(f, "path"))),
        [own(f, "what"), bytes(own(f, "bytes")), moment(own(f, "modified")), hash(own(f, "sha256"))].map((it) => h("td", it)))),
    left(part) > 0 && h("tr", wide(5, "and " + grouped(left(part)) + " more of " + part))]).filter(Boolean);
    return [several && runs.every((run) => sha(run, "train")) && h("p.note.verdict", same ? "All runs used the same data." : "The runs used different data."),
        facts(["training data, SHA-256", (run) => cell(run, "train") || (run.format === "synthetic" && "generated from the seed; no files")],
            ["validation data, SHA-256", (run) => cell(run, "validation")], ["test data, SHA-256", (run) => cell(run, "test")],
            ["examples, training + validation", (run) => count(start(run, "train_examples")) && [count(start(run, "train_examples")), " + ", count(start(run, "validation_examples"))]]),
        files.length > 0 && h("details", h("summary", "Files"), scroll("files", table("files", ["file", "for", "size", "last changed", "SHA-256"], files)))];
}

function environment() {
    const system = (run) => ["system", "release", "machine"].map((key) => host(run, key)).filter(Boolean).join(" ");
    return [facts(["weights, SHA-256", (run) => hash(run.weights_sha256)], ["job, SHA-256", (run) => hash(run.job_sha256)], ["seed", (run) => start(run, "seed")],
        ["run directory", (run) => h("code", run.path)], ["began", (run) => time(start(run, "time"))], ["dtrain", (run) => start(run, "dtrain")],
        ["back end", (run) => start(run, "backend")], ["kernels", (run) => start(run, "kernels")], ["instruction set", (run) => host(run, "instructions")],
        ["machine", (run) => host(run, "name")], ["processor", (run) => host(run, "processor")], ["cores", (run) => count(host(run, "cores"))], ["system", system])];
}

// Of a long list the first and last ones are there; between them a row says how many are not.
function shortened(list, inAll, columns, what, row) {
    const rows = list.map(row);
    return inAll > list.length ? [...rows.slice(0, 20), h("tr", wide(columns, grouped(inAll - list.length) + " " + what + " not shown")), ...rows.slice(20)] : rows;
}

function checkpoints() {
    const row = (c) => h("tr", head(h("code", c.name)), c.damage ? set(h("td.damage", c.damage), { colspan: 4 })
        : [[count(c.step), c.final && [" ", h("small", "final")]], moment(c.saved_s), bytes(c.bytes), hash(c.weights_sha256)].map((cell) => h("td", cell)));
    return runs.map((run) => run.checkpoints.length > 0 && scroll("checkpoints", table("checkpoints", ["checkpoint", "step", "saved", "size", "weights, SHA-256"],
        shortened(run.checkpoints, run.checkpoints_in_all, 5, "checkpoints", row), several && nameOf(run))));
}

function events() {
    const line = (m) => h("li." + m.kind, h("b", m.who || m.kind), " ", m.step > 0 ? h("small", "step " + grouped(m.step)) : m.epoch > 0 && h("small", "epoch " + grouped(m.epoch)),
        " ", h("span.words", m.text), m.left_out > 0 && h("small", " … " + m.left_out + " more bytes"));
    const attempt = (a) => h("tr", head(time(a.began)), h("td", count(a.from), " → ", count(a.to), a.resumed && h("small", " resumed")),
        h("td", seconds(a.seconds)), h("td", a.over ? [a.how, h("small", " exit " + a.exit)] : "no end recorded"));
    return runs.map((run) => (run.attempts.length > 0 || run.messages.length > 0) && [several && h("h3", nameOf(run)),
        run.messages_left_out.map((kind) => h("p.note", count(kind.n), " of ", count(kind.of), " lines of kind " + kind.kind + " not shown; the first and last "
            + kind.kept + " are below.")),
        run.messages.length > 0 && h("ul.said", run.messages.map(line)),
        run.attempts.length > 0 && h("div.scroll", table("attempts", ["began", "steps", "took", "ended"],
            shortened(run.attempts, run.attempts_in_all, 4, "attempts", attempt), "Attempts"))]);
}

// ---- the page ----

const sections = [
    ["summary", "Summary", summary], ["curves", "Curves", curves], ["differences", "Differences between jobs", differences], ["speed", "Learning rate and speed", speed],
    ["workers", "Workers", workers], ["memory", "Memory", memory], ["placement", "Placement", placement], ["job", "Job", job], ["data", "Data", dataRead],
    ["environment", "Hashes and environment", environment], ["checkpoints", "Checkpoints", checkpoints], ["events", "Warnings and events", events],
].map(([id, title, make]) => ({ id, title, kids: make().flat(Infinity).filter((kid) => kid instanceof Node) })).filter(({ kids }) => kids.length > 0);

const theme = (word, i) => { const made = set(h("input"), { type: "radio", name: "theme", id: "theme-" + word }); made.checked = i === 0; return h("label", made, word); };
put(document.body,
    h("header", h("div", h("h1", document.title), h("p", several ? runs.length + " runs"
        : [runs[0].start && [start(runs[0], "device"), ", began ", time(runs[0].attempts[0].began), ", "], runs[0].path])),
    h("fieldset.theme", h("legend.unseen", "Colours"), ["auto", "light", "dark"].map(theme))),
    set(h("nav", sections.map(({ id, title }) => set(h("a", title), { href: "#" + id }))), { "aria-label": "sections" }),
    h("main", sections.map(({ id, title, kids }) => set(h("section", set(h("h2", title), { id: id + "-title" }), kids), { id, "aria-labelledby": id + "-title" }))),
    h("footer", "written by dtrain " + dtrain));
