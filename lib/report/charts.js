// SPDX-License-Identifier: Apache-2.0
// Charts: axes, curves, and what a reader does with them.

// ---- axes ----

const far = 1e300; // beyond this a difference of two might not be a number
const isSeen = (y, log) => y !== null && Math.abs(y) < far && (!log || y > 0);

function range(values) {
    const seen = values.filter((v) => isSeen(v));
    const least = seen.reduce((a, b) => Math.min(a, b), Infinity),
          most = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    return { least, most, positive: seen.reduce((a, b) => (b > 0 && b < a ? b : a), Infinity) };
}

// Ticks are 1, 2 or 5 times a power of ten apart.
function linear(least, most, ticks, whole) {
    const span = most - least > Math.abs(most) * 1e-12
        ? most - least
        : Math.abs(most) || 1; // one value alone stands in the middle
    const raw = span / ticks, power = 10 ** Math.floor(Math.log10(raw)), m = raw / power;
    const nice = power *
        (m <= 1       ? 1
             : m <= 2 ? 2
             : m <= 5 ? 5
                      : 10),
          step = whole ? Math.max(1, Math.round(nice)) : nice;
    const pad = most > least ? 0
        : whole              ? 1
                             : span / 2,
          from = least - pad, to = most + pad, first = Math.ceil(from / step - 1e-9), at = [];
    for (let i = 0; i < 12; i++) {
        const t = (first + i) * step;
        if (t <= to + step * 1e-9 && (!whole || (t >= least && t <= most))) { at.push(t); }
    }
    return {
        step,
        ticks: at,
        part: (v) => (v - from) / (to - from),
        value: (part) => from + part * (to - from)
    };
}

// A little air above and below.
function linearY({ least, most }, fromZero) {
    const air = 0.04 * (most - least), low = fromZero ? Math.min(0, least) : least - air;
    return linear(least >= 0 ? Math.max(low, 0) : low, fromZero && most <= 0 ? 1 : most + air, 5,
                  false);
}

// Powers of ten, with 2 and 5 of them where there are few.
function logarithmic({ positive, most }) {
    const air = 0.04 * Math.log10(most / positive), from = Math.log10(positive) - air,
          to = Math.log10(most) + air, at = [];
    const decades = to - from - 2 * air, every = Math.max(1, Math.ceil(decades / 6));
    for (let d = Math.floor(from); d <= to; d += every) {
        for (const few of decades <= 3 ? [1, 2, 5] : [1]) {
            const l = d + Math.log10(few);
            if (l >= from && l <= to) { at.push(few * 10 ** d); }
        }
    }
    return {
        step: 0,
        ticks: at.slice(0, 12),
        log: true,
        part: (v) => (Math.log10(v) - from) / (to - from)
    };
}

function tick(x, step) {
    const decimals = step > 0 && step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    if (Math.abs(x) < step * 1e-6) { return "0"; }
    if (step === 0 || Math.abs(x) >= 1e7 || decimals > 5) {
        return Math.abs(x) < 1e-4 ? Number(x.toPrecision(6)).toExponential()
                                  : String(Number(x.toPrecision(6)));
    }
    if (step >= 2e5) { return (x / 1e6).toFixed(step < 1e6 ? 1 : 0) + " M"; }
    return Math.abs(x) >= 1000 ? grouped(x) : x.toFixed(decimals);
}

// ---- curves ----

// Exponential, its beginning corrected, as it is usual for curves of training; of a thinned one
// from the means of its stretches.
function smoothed({ x, y, mean_x, mean }) {
    const xs = mean_x || x, ys = mean || y, weight = xs.length > 200 ? 0.95 : 0.8,
          points = { x: [], y: [] };
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
        if (seen) {
            text += (on && !dots ? "L" : "M") + place(axes.x.part(x[i])) + " " +
                place(1 - axes.y.part(v)) + (dots ? "h0" : "");
        }
        on = seen;
    });
    return text;
}

// There along the greatest, back along the least.
function band({ least, most }, axes) {
    const side = ({ x, y }) =>
        x.map((v, i) => [v, y[i]])
            .filter(([, v]) => isSeen(v))
            .map(
                ([v, w]) => place(axes.x.part(v)) + " " +
                    place(axes.y.log && w <= 0 ? 1 : Math.min(1, Math.max(0, 1 - axes.y.part(w)))));
    return "M" + [...side(most), ...side(least).reverse()].join("L") + "Z";
}

// The points that have a dot: all of a short curve; of a long one a few, where dots tell runs of
// one colour apart.
function dotted({ x, y }, i) {
    if (y.length <= 60) { return { x, y }; }
    const every = Math.ceil(y.length / 8), keep = (list) => list.filter((_, k) => k % every === 0);
    return i < COLOURS ? { x: [], y: [] } : { x: keep(x), y: keep(y) };
}

function drawCurve(svg, curve, axes, chart) {
    const { line } = curve, look = colour(curve.colour, " "), dash = curve.dashed ? " dashed" : "";
    const mean = chart.smooth.checked && canSmooth(curve);
    const add = (name, d) => {
        const made = drawn("path", { class: name, d });
        made.dataset.run = curve.colour;
        svg.append(made);
        return made;
    };
    if (curve.least && curve.most) { add("band " + look, band(curve, axes)); }
    const points = line.y.filter((v) => isSeen(v, axes.y.log)).length;
    add("line " + look + dash + (mean ? " faint" : ""), path(line, axes)).dataset.points = points;
    if (mean) { add("mean " + look + dash, path(smoothed(line), axes)); }
    const dots = path(dotted(mean ? smoothed(line) : line, curve.colour), axes, true);
    add("dots " + look, dots);
    add("holes " + look, dots);
    line.y.forEach((v, i) => { // where a value is not a number, or infinite: a stroke at the foot
        if (isSeen(v)) { return; }
        add("gap", "M" + place(axes.x.part(line.x[i])) + " 1000V940")
            .append(put(drawn("title", {}), short(v) + " at " + chart.x + " " + line.x[i]));
    });
}

// ---- charts ----

// What a reader has hidden: runs by number, and "training" or "validation". Of many runs the curves
// of training are hidden at first. All charts, to draw them again.
const hidden = new Set(many ? ["training"] : []), drawnCharts = [];
const isShown = (chart, curve) => !several ||
    !(hidden.has(curve.colour) ||
      (chart.both && hidden.has(curve.dashed ? "validation" : "training")));

// The curves of one run stand out; null: of all.
function emphasize(run) {
    document.querySelectorAll(".plot [data-run]")
        .forEach((path) => path.classList.toggle("back", run !== null && path.dataset.run !== run));
}

// Hides and shows again.
function toggle(button, what) {
    const press = () => button.setAttribute("aria-pressed", String(!hidden.has(what)));
    set(button, { type: "button" }).addEventListener("click", () => {
        hidden[hidden.has(what) ? "delete" : "add"](what);
        press();
        drawnCharts.forEach(draw);
    });
    press();
    return button;
}

// One legend for all charts of several runs: the colour is the run, a dash is validation. What is
// pressed is hidden; a run that is pointed at stands out.
function legend() {
    const button = (run, i) => {
        const made = toggle(h("button." + colour(i), run.label), i);
        for (const event of ["pointerenter", "focus"]) {
            made.addEventListener(event, () => emphasize(String(i)));
        }
        for (const event of ["pointerleave", "blur"]) {
            made.addEventListener(event, () => emphasize(null));
        }
        return made;
    };
    const kinds =
        ["training", "validation"].map((word) => toggle(h("button.kind." + word, word), word));
    return set(h("div.runs", runs.map(button), kinds), { role: "group", "aria-label": "legend" });
}

const canSmooth = ({ line, exact }) => !exact && (line.of || line.y.length) > 20;

function draw(chart) {
    const { plot } = chart, curves = chart.curves.filter((curve) => isShown(chart, curve)),
                 all = (key) =>
                     curves.flatMap(({ line, least, most }) => [line, least, most].flatMap(
                                        (s) => (s ? s[key] : [])));
    const across = range(all("x")),
          xs = across.most >= across.least ? across : { least: 0, most: 1 }, seen = range(all("y")),
          ys = seen.most >= seen.least ? seen : { least: 0, most: 1, positive: Infinity };
    const axes = {
        x: chart.unit ? linear(0, 1, 5, false) : linear(xs.least, xs.most, 6, true),
        y: chart.unit === "square" ? linear(0, 1, 5, false)
            : chart.log.checked    ? logarithmic(ys)
                                   : linearY(ys, chart.fromZero)
    };
    const words = curves.map(({ label, line }) => label + " from " + short(line.y[0]) + " to " +
                                 short(line.y.at(-1)));
    const svg =
        drawn("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", role: "img" });
    const label = (kind, side, part, text) => {
        const made = h("span." + kind, text);
        made.style[side] = 100 * part + "%";
        return made;
    };
    svg.setAttribute("aria-label",
                     visible(chart.title + " by " + chart.x + ": " + words.join("; ")));
    svg.append(drawn("path", {
        class: "grid",
        d: axes.y.ticks.map((t) => "M0 " + place(1 - axes.y.part(t)) + "H1000").join("")
    }));
    if (chart.diagonal) { svg.append(drawn("path", { class: "cross", d: "M0 1000L1000 0" })); }
    curves.forEach((curve) => drawCurve(svg, curve, axes, chart));
    chart.axes = axes;
    plot.replaceChildren();
    put(plot, svg,
        axes.y.ticks.map((t) => label("yt", "top", 1 - axes.y.part(t), tick(t, axes.y.step))),
        axes.x.ticks.map((t) => label(axes.x.part(t) > 0.97 ? "xt.end" : "xt", "left",
                                      axes.x.part(t), tick(t, axes.x.step))),
        h("span.xl", chart.x));
}

// Steps and epochs are whole; rates and shares are not.
const shownX = (chart, x) => (chart.unit ? short(x) : grouped(x));

// A row for each x that any curve has: [x, a value of each curve or undefined].
function rowsOf(curves) {
    const at = curves.map(({ line }) => new Map(line.x.map((x, i) => [x, line.y[i]])));
    return [...new Set(curves.flatMap(({ line }) => line.x))]
        .sort((a, b) => a - b)
        .map((x) => [x, at.map((points) => points.get(x))]);
}

function numbers(chart) {
    const of = Math.max(...chart.curves.map(({ line }) => line.of || 0)),
          made = h("details.numbers", h("summary", "Numbers"));
    made.addEventListener("toggle", () => {
        if (made.children.length > 1) { return; }
        const rows = chart.rows.map(
            ([x, values]) => h("tr", head(data(x, shownX(chart, x))),
                               values.map((y) => h("td", y !== undefined && number(y)))));
        const all = table("", [chart.x, ...chart.curves.map(({ label }) => label)], rows);
        all.prepend(h("caption.unseen", chart.title));
        put(made,
            of > 0 &&
                h("p.note", "Of ", count(of), " points, the minimum and maximum of each interval."),
            scroll("numbers", all));
    });
    return made;
}

// Of many curves those that are closest to the pointer, or without one the first.
function nearest({ axes }, there, height) {
    const most = 10, far = ([, y]) => {
        const part = isSeen(y, axes.y.log) ? axes.y.part(y) : 0;
        return height === undefined ? 0 : Math.abs(part - height);
    };
    if (there.length <= most) { return there; }
    const kept = [...there].sort((a, b) => far(a) - far(b)).slice(0, most);
    return there.filter((pair) => kept.includes(pair));
}

// The value under the pointer; the arrow keys walk from point to point.
function watch(chart) {
    const { plot, curves, rows } = chart, keys = {
        ArrowLeft: -1,
        ArrowRight: 1,
        PageUp: -10,
        PageDown: 10,
        Home: -Infinity,
        End: Infinity
    };
    const tip = set(h("div.tip"), { role: "status" }), cross = drawn("path", { class: "cross" });
    let at = 0;
    const hide = () => {
        tip.remove();
        cross.remove();
    };
    const show = (index, height) => {
        at = Math.max(0, Math.min(rows.length - 1, index));
        const [x, values] = rows[at], part = chart.axes.x.part(x);
        const there = curves.map((curve, i) => [curve, values[i]])
                          .filter(([curve, y]) => y !== undefined && isShown(chart, curve));
        const kept = nearest(chart, there, height);
        tip.replaceChildren(h("b", chart.x + " " + shownX(chart, x)));
        put(tip,
            kept.map(([curve, y]) => h("div." + colour(curve.colour), h("span", curve.label),
                                       h("output", short(y)))),
            there.length > kept.length &&
                h("small", "and " + (there.length - kept.length) + " more"));
        cross.setAttribute("d", "M" + 1000 * part + " 0V1000");
        plot.append(tip);
        const across = part * plot.clientWidth, room = plot.clientWidth - tip.offsetWidth;
        const side = part < 0.5 ? across + 10 : across - 10 - tip.offsetWidth;
        tip.style.left = Math.max(0, Math.min(side, room)) + "px";
        plot.querySelector("svg").append(cross);
    };
    plot.addEventListener("pointermove", (event) => {
        const box = plot.getBoundingClientRect(),
              x = chart.axes.x.value((event.clientX - box.left) / box.width);
        const above = rows.findIndex((row) => row[0] >= x), i = above < 0 ? rows.length - 1 : above;
        show(i > 0 && x - rows[i - 1][0] < rows[i][0] - x ? i - 1 : i,
             1 - (event.clientY - box.top) / box.height);
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

// {id, title, x, curves: [{label, colour, dashed, line, least, most}]}; optional: note, fromZero,
// wide, smooth; unit: x is from 0 to 1, and with "square" y, too; diagonal. A curve without points
// is none.
function makeChart(given) {
    const chart = {...given, curves: given.curves.filter(({ line }) => line && line.x.length > 0) };
    const { curves } = chart, ys = range(curves.flatMap(({ line }) => line.y));
    if (curves.length === 0) { return null; }
    const box = (on) => {
        const made = set(h("input"), { type: "checkbox" });
        made.checked = on;
        made.addEventListener("change", () => draw(chart));
        return made;
    };
    const canLog = !chart.unit && Number.isFinite(ys.positive) && ys.most / ys.positive > 3;
    chart.smooth =
        box(curves.some(canSmooth) && (chart.smooth || curves.some(({ line }) => line.of > 0)));
    chart.both = curves.some(({ dashed }) => dashed) && !curves.every(({ dashed }) => dashed);
    chart.log = box(false);
    chart.rows = rowsOf(curves);
    chart.plot =
        set(h("div.plot"), { tabindex: 0, role: "group", "aria-label": "values: arrow keys" });
    chart.figure =
        h(chart.wide ? "figure.chart.wide" : "figure.chart",
          h("figcaption",
            h("div.caption", h("h3", chart.title),
              h("span.switches",
                curves.some(canSmooth) && h("label.switch.smooth", chart.smooth, " smooth"),
                canLog && h("label.switch.logarithmic", chart.log, " log"))),
            chart.note && h("p.note", chart.note),
            !several &&
                h(curves.length === 1 && curves[0].label === chart.title ? "ul.legend.alone"
                                                                         : "ul.legend",
                  curves.map((curve) =>
                                 h("li." + colour(curve.colour) + (curve.dashed ? ".dashed" : ""),
                                   curve.label)))),
          chart.plot, numbers(chart));
    chart.figure.id = "chart-" + chart.id.slice(0, 120);
    draw(chart);
    watch(chart);
    drawnCharts.push(chart);
    return chart.figure;
}

// Of an odd number of charts side by side the last one takes the whole width.
function charts(given) {
    const made = given.map(makeChart).filter(Boolean),
          half = made.filter((figure) => !figure.classList.contains("wide"));
    if (half.length % 2 === 1) { half.at(-1).classList.add("wide"); }
    return made.length > 0 && h("div.charts", made);
}
