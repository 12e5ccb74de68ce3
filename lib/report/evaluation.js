// SPDX-License-Identifier: Apache-2.0
// What `evaluate` found out about the weights of a run: classes, confusions, curves, errors and the
// worst examples.

const list = (object, key) => (Array.isArray(inner(object, key)) ? inner(object, key) : []);
const values = (object, key) => list(object, key).map((v) => (typeof v === "number" ? v : null));
const measured = (object, key) =>
    (typeof own(object, key) === "number" ? number(own(object, key)) : "–");
const entries = (object, key) => {
    const tree = inner(object, key);
    return tree && typeof tree === "object" && !Array.isArray(tree) ? Object.entries(tree) : [];
};

// All evaluations: of each run the parts that were evaluated.
const evaluations =
    runs.flatMap((run) => Object.entries(run.evaluations).map(([part, of]) => ({ run, part, of })));
const outputsOf = ({ of }) => entries(of, "outputs");
const isNamed = evaluations.some((e) => outputsOf(e).length > 1);

// By share: an object's whole-numbered keys come first.
const quantilesOf = (e) => entries(e, "quantiles").sort(([a], [b]) => a - b);

// A table whose first cell is the title of its row, and stays in sight. Many columns are cards on a
// narrow screen.
const sheet = (label, titles, rows) => scroll(
    label,
    (titles.length > 5 || label === "worst examples" ? cards : table)(
        "sheet", titles,
        rows.map(([first, ...rest]) => h("tr", head(first), rest.map((it) => h("td", it))))));

// The metrics of each evaluation, and whose weights they are.
function evaluated() {
    const names = each(evaluations.flatMap(({ of }) => entries(of, "metrics").map(([key]) => key)));
    const isOld = ({ run, of }) => run.weights_sha256 && own(of, "weights_sha256") &&
        own(of, "weights_sha256") !== run.weights_sha256;
    const row = (e) => h(
        "tr", head(several ? nameOf(e.run) : e.part), several && h("td", e.part),
        h("td", h("code", own(e.of, "checkpoint")), isOld(e) && h("small.note", "not the newest")),
        h("td", count(own(e.of, "examples"))),
        names.map((key) => h("td", measured(inner(e.of, "metrics"), key))));
    return scroll("evaluations",
                  cards("evaluations",
                        [...(several ? ["run"] : []), "part", "checkpoint", "examples", ...names],
                        evaluations.map(row)));
}

// ---- curves: one chart for all runs that have the same part and output ----

const binaryCurves = [
    ["roc_curve", "ROC", "fpr", "tpr", "false positive rate", "true positive rate", true],
    ["precision_recall_curve", "precision-recall", "recall", "precision", "recall", "precision"],
    [
        "calibration_curve", "calibration", "prob_pred", "prob_true", "predicted probability",
        "share of actual positives", true
    ]
];

// label: of the only run's curve.
const evaluationCurve = (run, label, x, y) => ({
    label: several ? run.label : label,
    colour: several ? runs.indexOf(run) : 0,
    exact: true,
    line: { x, y }
});

function curvesOf(part, name) {
    const all = evaluations.filter((e) => e.part === part)
                    .map((e) => [e.run, inner(inner(e.of, "outputs"), name)]),
          of = part + (isNamed ? ", " + name : "");
    const binary = binaryCurves.map(
        ([key, title, x, y, across, up, diagonal]) => ({
            id: [part, name, key].join("-"),
            title: title + ", " + of,
            x: across,
            unit: "square",
            diagonal,
            curves: all.filter(([, o]) => own(o, "as") === "binary")
                        .map(([run, o]) => evaluationCurve(run, up, values(inner(o, key), x),
                                                           values(inner(o, key), y)))
        }));
    const columns = Math.max(0, ...all.map(([, o]) => list(o, "errors").length));
    const quantiles = (o, i) => quantilesOf(list(o, "errors")[i]);
    const errors = Array.from(
        { length: Math.min(columns, 4) },
        (_, i) => ({
            id: [part, name, "errors", i].join("-"),
            title:
                ["errors", all.map(([, o]) => own(list(o, "errors")[i], "name")).find(Boolean), of]
                    .filter(Boolean)
                    .join(", "),
            x: "share of examples with a smaller error",
            unit: "x",
            curves: all.map(([run, o]) => evaluationCurve(
                                run, "prediction - target", quantiles(o, i).map(([q]) => Number(q)),
                                quantiles(o, i).map(([, e]) => (typeof e === "number" ? e : null))))
        }));
    return [...binary, ...errors];
}

function evaluationCharts() {
    const pairs = each(
        evaluations.flatMap((e) => outputsOf(e).map(([name]) => JSON.stringify([e.part, name]))));
    return charts(pairs.flatMap((pair) => curvesOf(...JSON.parse(pair))));
}

// ---- tables of one evaluation ----

const MOST_LISTED = 100, WORST_LISTED = 20;

function classes(o) {
    const all = list(o, "classes"), what = own(o, "as") === "labels" ? "label" : "class",
          keys = ["precision", "recall", "f1_score"],
          cells = (of) => [...keys.map((key) => measured(of, key)), count(own(of, "support"))];
    const f1 = (c) => own(c, "f1_score"),
          kept = all.length > MOST_LISTED
        ? [...all].sort((a, b) => f1(a) - f1(b)).slice(0, WORST_LISTED)
        : all;
    if (all.length === 0) { return null; }
    return [
        h("h3", what === "label" ? "Labels" : "Classes"),
        kept.length < all.length &&
            h("p.note",
              "The " + kept.length + " of " + grouped(all.length) + " with the lowest " +
                  "f1_score; `dtrain evaluate --json` has all."),
        sheet("classes", [what, "precision", "recall", "f1_score", "support"],
              [
                  ...kept.map((c) => [own(c, "class"), ...cells(c)]),
                  ["macro average", ...cells(inner(o, "macro_average"))],
                  ["weighted average", ...cells(inner(o, "weighted_average"))]
              ])
    ];
}

// Right ones have one colour, wrong ones another; the more of a row, the stronger.
function matrix(o) {
    const rows = list(o, "confusion_matrix"),
          names = list(o, "classes").map((c) => own(c, "class"));
    const cell = (n, r, c, sum) => {
        const made = h("td." + (r === c ? "right" : "wrong"), count(n));
        made.style.setProperty("--share", (n > 0 ? 6 + 40 * n / sum : 0).toFixed(1) + "%");
        return made;
    };
    const row = (counts, r) => {
        const cells = Array.isArray(counts) ? counts.map((n) => whole(n) || 0) : [],
              sum = cells.reduce((a, b) => a + b, 0);
        return h("tr", head(names[r]), cells.map((n, c) => cell(n, r, c, sum)));
    };
    return rows.length > 0 && [
        h("h3", "Confusion matrix"),
        h("p.note", "Rows are actual classes, columns predicted ones."),
        scroll("confusion matrix", table("matrix", ["", ...names], rows.map(row)))
    ];
}

function confused(o) {
    const rows = list(o, "confused");
    return !inner(o, "confusion_matrix") && rows.length > 0 && [
        h("h3", "Largest confusions"),
        sheet("confusions", ["actual", "predicted", "count"],
              rows.map((c) => [own(c, "actual"), own(c, "predicted"), count(own(c, "count"))]))
    ];
}

function thresholds(o) {
    const keys = ["precision", "recall", "f1", "accuracy", "balanced_accuracy", "mcc"],
          best = inner(o, "best_threshold"), rows = list(o, "thresholds");
    const row = (t) => [measured(t, "threshold"), ...keys.map((key) => measured(t, key))];
    return rows.length > 0 && [
        h("h3", "Thresholds"),
        h("p.note",
          ["roc_auc", "average_precision", "brier_score"].map(
              (key) => [key + " ", measured(o, key), " "])),
        sheet("thresholds", ["threshold", ...keys],
              [
                  ...(best ? [[
                      [measured(best, "threshold"), h("span.best", "best " + own(best, "for"))],
                      ...row(best).slice(1)
                  ]]
                           : []),
                  ...rows.map(row)
              ])
    ];
}

function errorTable(o) {
    const rows = list(o, "errors");
    if (rows.length === 0) { return null; }
    const keys = ["mean_error", "mean_absolute_error", "root_mean_squared_error", "r2_score"];
    const titleOfShare = (q) => (q === "0" ? "min" : q === "1" ? "max" : 100 * q + " %");
    return [
        h("h3", "Errors"), h("p.note", "An error is the prediction minus the target."),
        sheet("errors", ["", ...rows.map((e) => own(e, "name") || "error")],
              [
                  ...keys.map((key) => [key, ...rows.map((e) => measured(e, key))]),
                  ...quantilesOf(rows[0]).map(
                      ([q]) => [titleOfShare(q),
                                ...rows.map((e) => measured(inner(e, "quantiles"), q))])
              ])
    ];
}

function worst(o) {
    const rows = list(o, "worst"), columns = [
        ["example_loss", (w) => measured(w, "example_loss")],
        ...["actual", "predicted"].map(
            (key) => [key,
                      (w) => typeof own(w, key) === "number" ? number(own(w, key)) : own(w, key)]),
        [
            "probability of actual",
            (w) => own(w, "probability") !== undefined && measured(w, "probability")
        ]
    ].filter(([, of]) => rows.some((w) => of(w) || of(w) === ""));
    return rows.length > 0 && [
        h("h3", "Worst examples"),
        sheet("worst examples", ["example", ...columns.map(([title]) => title)],
              rows.map(
                  (w) => [own(w, "where") || own(w, "example"), ...columns.map(([, of]) => of(w))]))
    ];
}

function detailsOf(e) {
    return outputsOf(e).map(([name, o]) => {
        const made = [classes, matrix, confused, thresholds, errorTable, worst].map((of) => of(o));
        const title = [several && nameOf(e.run), several && " ", e.part, isNamed && ", " + name];
        const is = h("details.evaluated", h("summary", title), made);
        is.open = !several;
        return is;
    });
}

function evaluation() {
    return evaluations.length > 0 ? [evaluated(), evaluationCharts(), evaluations.map(detailsOf)]
                                  : [];
}
