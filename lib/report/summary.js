// SPDX-License-Identifier: Apache-2.0
// How runs ended and what they reached.

// ---- metrics ----

const isValidation = (name) => name.startsWith("val_");
const base = (name) => (isValidation(name) ? name.slice(4) : name);
const each = (names) => [...new Set(names)];
const metrics = each(runs.flatMap((run) => Object.keys(run.figures)))
                    .sort((a, b) => isValidation(b) - isValidation(a)); // validation first

// "f1_score_0 (iris)", where the run's record knows of which class a metric is. Runs that are
// compared may have other classes; then its name alone.
function titleOf(metric, of = runs) {
    const titles = each(of.filter((run) => inner(run.by_epoch, metric)).map((run) => {
        const known = own(inner(run.start, "classes"), base(metric));
        return metric + (known ? " (" + known + ")" : "");
    }));
    return titles.length === 1 ? titles[0] : metric;
}

// Alone, training and validation have a colour each; among others a run has one, and validation is
// dashed.
function curve(run, list, name) {
    const validation = isValidation(name), what = validation ? "validation" : "training",
          i = runs.indexOf(run);
    return {
        label: several ? run.label + ", " + what : what,
        colour: several ? i : Number(validation),
        dashed: several && validation,
        line: inner(run[list], name)
    };
}

const badge = (run) => h("span.badge." + run.tone, run.outcome);
const breaks = (name) => name.split("_").flatMap(
    (part, i) =>
        (i ? ["_", h("wbr"), part] : [part])); // a long name may break behind its underscores
// A run that ended with the weights of an earlier epoch is shown by the metrics of that epoch.
const shown = (figure) => figure.kept === undefined ? figure.last : figure.kept;
const keptEpoch = (run) =>
    (Object.values(run.figures).find(({ kept }) => kept !== undefined) || {}).kept_epoch;
// brief: in a table that has a column for the epoch of the weights.
const notes =
    (figure, brief) => [figure.kept !== undefined && !brief &&
                            "weights of epoch " + grouped(figure.kept_epoch) + "; last " +
                                short(figure.last),
                        figure.best !== undefined && figure.best !== shown(figure) &&
                            "best " + short(figure.best) + " in epoch " + grouped(figure.epoch)]
                           .filter(Boolean);

function tiles(run) {
    const tile = (label, value, below) =>
              h("div.tile", h("dt", breaks(label)), h("dd", value), below && h("dd.below", below)),
          wanted = whole(start(run, "steps"));
    return h(
        "dl.tiles", metrics.map((name) => {
            const figure = run.figures[name];
            return tile(titleOf(name), number(shown(figure)),
                        notes(figure).join("; ") ||
                            figure.best !== undefined && figure.points > 1 && "best");
        }),
        tile("steps", count(run.step),
             wanted > run.step ? "of " + grouped(wanted) + " requested"
                               : run.start && times(whole(start(run, "epochs")) || 0, "epoch")),
        run.attempts.length > 0 &&
            tile("time", seconds(run.seconds),
                 run.seconds > 0 &&
                     (100 * Math.min(1, run.epochs.wall_s / run.seconds)).toFixed(0) +
                         " % in training steps"),
        count(start(run, "parameters")) && tile("parameters", count(start(run, "parameters"))));
}

// The metric by which runs are compared, and the run whose kept weights have its best value;
// nothing where the direction is unknown, or values are missing.
const wayOf = (run, name) => (name === metric && better) || (inner(run.figures, name) || {}).way;
const decisive = metric || metrics.find((name) => name === "val_loss") ||
    metrics.find((name) => runs.some((run) => wayOf(run, name)));
function best() {
    const figure = (run) => inner(run.figures, decisive);
    const known = runs.filter((run) => figure(run) && wayOf(run, decisive) &&
                                  Number.isFinite(shown(figure(run))));
    const value = (run) => wayOf(run, decisive) * shown(figure(run));
    return known.length > 1 ? known.reduce((a, b) => (value(b) > value(a) ? b : a)) : null;
}

// Keys of the jobs in which runs differ, but for what only names a run: variables, since they are
// what a sweep changes, and a few others. A key that has the values of one before it, as a variable
// sets it, is left out.
function settings() {
    const values = (key) => JSON.stringify(runs.map((run) => own(run.job, key)));
    const isVariable = (key) => key.startsWith("let."), seen = new Set();
    const keys = each(runs.flatMap((run) => Object.keys(run.job)))
                     .filter((key) => !["name", "output.dir"].includes(key))
                     .filter((key) => each(runs.map((run) => own(run.job, key))).length > 1)
                     .sort((a, b) => isVariable(b) - isVariable(a))
                     .filter((key) => !seen.has(values(key)) && seen.add(values(key)));
    return keys.slice(0, Math.max(4, Math.min(8, keys.filter(isVariable).length)));
}

// "units" of "model.layers[1].Dense.units", where no other key ends in it.
function shortKey(key, keys) {
    const last = (name) => name.split(".").at(-1);
    return keys.filter((other) => last(other) === last(key)).length > 1 ? key : last(key);
}

// The columns of the summary: a title, the cell of a run, and what it is sorted by; way 1: larger
// values are better.
function columns() {
    const all = settings(), winner = best(), folds = areFolds(),
          known = (run, name) => inner(run.figures, name);
    const value = (run, key) => own(run.job, key), kept = (run) => keptEpoch(run);
    const plain = (figure) => figure &&
        h("span", number(shown(figure)), notes(figure, true).map((note) => h("small.note", note)));
    return [
        {
            title: "run",
            cell: (run) => [nameOf(run),
                            run === winner && !folds && h("span.best", "best " + decisive)],
            by: (run) => run.label
        },
        {
            title: "outcome",
            cell: (run) =>
                h("span", badge(run), run.tone !== "good" && run.why && h("small.note", run.why)),
            by: (run) => run.outcome
        },
        ...all.slice(0, 8).map(
            (key) => ({
                title: shortKey(key, all),
                hint: key,
                cell: (run) => value(run, key) === undefined ? h("span.none", "not set")
                                                             : h("span.setting", value(run, key)),
                by: (run) => sortable(value(run, key))
            })),
        ...metrics.map((name) => ({
                           title: titleOf(name),
                           cell: (run) => plain(known(run, name)),
                           by: (run) => known(run, name) && shown(known(run, name)),
                           isMetric: true,
                           way: runs.map((run) => wayOf(run, name)).find(Boolean)
                       })),
        runs.some(kept) && {
            title: "weights",
            cell: (run) => (kept(run) ? "epoch " + grouped(kept(run)) : "last"),
            by: (run) => kept(run) || Infinity
        },
        { title: "steps", cell: (run) => count(run.step), by: (run) => run.step }, {
            title: "time",
            cell: (run) => run.attempts.length > 0 && seconds(run.seconds),
            by: (run) => run.seconds
        }
    ].filter(Boolean);
}

const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));
const sortable = (text) => (text !== undefined && isNumber(text) ? Number(text) : text);

// Numbers come before texts, and missing values last, in either direction.
function order(a, b, side) {
    const isNone = (x) => x === undefined || x === null || Number.isNaN(x);
    if (isNone(a) || isNone(b)) { return isNone(a) - isNone(b); }
    if (typeof a !== typeof b) { return typeof a === "number" ? -1 : 1; }
    return side * ((a > b) - (a < b));
}

// Whether the runs are all folds of one job.
function areFolds() {
    const folds = own(runs[0].job, "dataset.validation_folds.folds") ||
        own(runs[0].job, "dataset.validation_folds");
    return settings().join() === "dataset.fold" && runs.length === Number(folds);
}

// The mean of each metric over all folds, and its standard deviation, divided by their number as
// `fit` prints it.
function meanRow(all) {
    const cell = (column) => {
        const values = column.isMetric ? runs.map(column.by) : [NaN], n = values.length;
        if (!values.every(Number.isFinite)) { return h("td"); }
        const mean = values.reduce((sum, x) => sum + x / n, 0);
        const squares = values.reduce((sum, x) => sum + (x - mean) ** 2, 0);
        return h("td",
                 h("span", number(mean), h("small.note", "std " + short(Math.sqrt(squares / n)))));
    };
    return h("tr.means", head("mean of " + runs.length + " folds"), all.slice(1).map(cell));
}

// A click on a title sorts by its column, best values first; again, the other way round. Cards have
// no titles, so a list above them does the same.
function comparison() {
    const all = columns(), last = areFolds() ? [meanRow(all)] : [],
          rows = runs.map((run) => h("tr", head(all[0].cell(run)),
                                     all.slice(1).map((column) => h("td", column.cell(run)))));
    const titles = all.map(({ title, hint }) => set(h("button.sort", breaks(title)),
                                                    { type: "button", title: hint || title }));
    const made = cards("compare", titles, [...rows, ...last]), body = made.querySelector("tbody");
    const picker = h("select", h("option", "as named"), all.map(({ title }) => h("option", title)));
    const sort = (i, down) => {
        const head = [...made.querySelectorAll("thead th")], side = down ? -1 : 1;
        head.forEach((title) => title.removeAttribute("aria-sort"));
        if (i >= 0) { head[i].setAttribute("aria-sort", down ? "descending" : "ascending"); }
        const at = runs.map((run, k) => (i < 0 ? k : all[i].by(run)));
        const sorted = runs.map((_, k) => k).sort((a, b) => order(at[a], at[b], side));
        body.append(...sorted.map((k) => rows[k]), ...last);
        picker.selectedIndex = i + 1;
    };
    titles.forEach((button, i) => button.addEventListener("click", () => {
        const now = button.parentElement.getAttribute("aria-sort");
        sort(i, now ? now === "ascending" : all[i].way > 0);
    }));
    picker.addEventListener("change", () => {
        const i = picker.selectedIndex - 1;
        sort(i, i >= 0 && all[i].way > 0);
    });
    return [h("label.sorting", "sorted by ", picker), scroll("metrics of all runs", made)];
}

function summary() {
    return [
        several && comparison(),
        !several && [h("p.outcome", badge(runs[0]), " " + runs[0].why), tiles(runs[0])],
        runs.map(
            (run) => [run.remarks.map((text) => h("p.remark", several && [nameOf(run), " "], text)),
                      run.remarks_in_all > run.remarks.length &&
                          h("p.remark",
                            "and " + grouped(run.remarks_in_all - run.remarks.length) + " more")])
    ];
}
