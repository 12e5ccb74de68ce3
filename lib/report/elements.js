// SPDX-License-Identifier: Apache-2.0
// A report is drawn here, from the JSON in the page (gather.c): sections with their facts, tables
// and charts. Runs are data of somebody else: what they hold gets into the document by put() alone,
// as text.
"use strict";
const { runs, dtrain, metric, better } = JSON.parse(document.getElementById("data").textContent);
const several = runs.length > 1;

// What a record says may be of any type: `own` is a text, a number or nothing; `inner` a tree or a
// list.
const inner = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);
const own = (object, key) =>
    (typeof inner(object, key) === "object" ? undefined : inner(object, key));
const isPlain = (value) => typeof value === "string" || typeof value === "number";
const start = (run, key) => own(run.start, key);
const host = (run, key) => own(inner(run.start, "host"), key);

// ---- elements ----

// Characters that are not seen, or turn the direction of reading, as they are written in C.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffe\uffff]/gu;
const visible = (text) => String(text).replace(unseen, (c) => {
    const code = c.codePointAt(0), hex = code.toString(16);
    return c === "\n" || c === "\t" ? c
        : code < 0x100              ? "\\x" + hex.padStart(2, "0")
                                    : "\\u" + hex.padStart(4, "0");
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

// h("p.note", "text", h("b", "more")): null and false add nothing.
function h(name, ...kids) {
    const [tag, ...classes] = name.split("."), made = document.createElement(tag);
    made.className = classes.join(" ");
    return put(made, kids);
}

function set(element, attributes) {
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
}

const drawn = (name, attributes) =>
    set(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
const scroll = (label, ...kids) =>
    set(h("div.scroll", kids), { tabindex: 0, role: "region", "aria-label": label });
// A run's look: ten colours, and behind them the same ones with other dots.
const COLOURS = 10, DOTS = 3;
const colour = (i, join = ".") =>
    "c" + i % COLOURS + (i < COLOURS ? "" : join + "m" + Math.floor(i / COLOURS) % DOTS);

const nameOf = (run) => h("span.run." + colour(runs.indexOf(run)), run.label);
const table = (kind, titles, rows, caption) =>
    h("table." + kind, caption && h("caption", caption),
      titles && h("thead", h("tr", titles.map((title) => set(h("th", title), { scope: "col" })))),
      h("tbody", rows));

// A row for each run or key; on a narrow screen a card, whose cells have the titles of their
// columns. Titles are texts or elements.
function cards(kind, titles, rows, caption) {
    const isText = (title) => typeof title === "string";
    const words = titles.map((title) => visible(isText(title) ? title : title.textContent));
    const label = (cell, i) => i > 0 && cell.colSpan === 1 && set(cell, { "data-label": words[i] });
    rows.forEach((row) => [...row.children].forEach(label));
    return table(kind + ".cards", titles.map((title) => (isText(title) ? breaks(title) : title)),
                 rows, caption);
}

// ---- numbers: for people, and as they were recorded ----

const data = (value, text) => set(h("data", text), { value });
const wide = (columns, ...kids) => set(h("td", kids), { colspan: columns });
const head = (...kids) => set(h("th", kids), { scope: "row" });
const grouped = (n) => Math.round(n).toLocaleString("en");

function short(x) {
    const size = Math.abs(x);
    if (x === null || x === undefined || Number.isNaN(x)) { return "NaN"; }
    if (size > 0 && (size < 1e-4 || size >= 1e6)) {
        return x.toExponential(2).replace(/\.?0+e/, "e").replace(/(e.)(\d)$/, "$10$2");
    } // as C: 1e-05
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
    while (unit < units.length - 1 && size >= (unit ? 1023.95 : 1024)) {
        size /= 1024;
        unit++;
    }
    return typeof n === "number" && n > 0 &&
        data(n, size.toFixed(unit ? 1 : 0) + " " + units[unit]);
}

function seconds(s) {
    const two = (n) => String(n).padStart(2, "0"), all = Math.round(s);
    const text = !(s >= 0) ? short(s)
        : s < 1e-3         ? (s * 1e6).toFixed(0) + " µs"
        : s < 1            ? (s * 1e3).toFixed(s < 0.01      ? 2
                                                   : s < 0.1 ? 1
                                                             : 0) +
            " ms"
        : s < 60   ? s.toFixed(1) + " s"
        : s < 3600 ? Math.floor(all / 60) + " min " + two(all % 60) + " s"
                   : Math.floor(all / 3600) + " h " + two(Math.floor(all % 3600 / 60)) + " min";
    return data(s, text);
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const time = (text) =>
    (iso.test(text)
         ? set(h("time", text.slice(0, 10) + " " + text.slice(11, 19) + " UTC"), { datetime: text })
         : text);
const moment = (s) => s > 0 && s < 1e11 && time(new Date(s * 1e3).toISOString().slice(0, 19) + "Z");
const hash = (hex) => hex && h("code.hash", hex);
const times = (n, word) => grouped(n) + " " + word + (n === 1 ? "" : "s");

// ---- facts: of one run a row each; of several a row for each run, and what is the same for all
// below; those without anything left out ----

// What there is of each of many runs is opened by its reader: a table of all, or a run's own part,
// which has its name and what it holds as a title.
const many = runs.length > 8;
const folded = (made) =>
    (many ? h("details", h("summary", "of each of the ", runs.length, " runs"), made) : made);
function ofRun(run, holds, ...kids) {
    if (!several) { return kids; }
    return many ? h("details", h("summary", nameOf(run), " ", h("small", holds)), kids)
                : [h("h3", nameOf(run)), kids];
}

function facts(...rows) {
    const made = rows.map(([label, of]) => [label, runs.map((run) => put(h("td"), of(run)))])
                     .filter(([, cells]) => cells.some((cell) => cell.innerHTML));
    const differ = ([, cells]) => cells.some((cell) => cell.innerHTML !== cells[0].innerHTML),
          same = made.filter((row) => !differ(row)), other = made.filter(differ);
    const row = (run, i) =>
        h("tr", head(nameOf(run)),
          other.map(([, cells]) => (cells[i].innerHTML ? cells[i] : h("td", "–"))));
    return made.length > 0 && [
        other.length > 0 &&
            folded(
                scroll("facts in which runs differ",
                       cards("differ", ["run", ...other.map(([label]) => label)], runs.map(row)))),
        same.length > 0 &&
            scroll("facts",
                   table("facts", several && ["the same for all runs", ""],
                         same.map(([label, cells]) => h("tr", head(label), cells[0]))))
    ];
}
