// SPDX-License-Identifier: Apache-2.0
// The sections behind the summary, and the page from all of them.

// ---- sections ----

function curves() {
    const names = (list) => each(runs.flatMap((run) => Object.keys(run[list]).map(base)));
    const byEpoch =
        names("by_epoch")
            .filter((name) => name !== "learning_rate")
            .map((name) => ({
                     id: name + "-epoch",
                     title: titleOf(name),
                     x: "epoch",
                     curves: runs.flatMap((run) => [curve(run, "by_epoch", name),
                                                    curve(run, "by_epoch", "val_" + name)])
                 }));
    const loss = {
        id: "loss-step",
        title: "loss by step",
        x: "step",
        wide: true,
        smooth: several,
        note: !several &&
            "Each point is the mean of several steps; the band shows their minimum and maximum.",
        curves: runs.flatMap((run) => [{
                                 ...curve(run, "by_step", "loss"),
                                 ...(several ? {} : {
                                     least: inner(run.by_step, "loss_min"),
                                     most: inner(run.by_step, "loss_max")
                                 })
                             },
                                       curve(run, "by_step", "val_loss")])
    };
    // Validation between the ends of epochs is nowhere else.
    const points = (line) => (line ? line.of || line.x.length : 0);
    const finer =
        names("by_step").filter((name) => name !== "loss" &&
                                    runs.some((run) => points(inner(run.by_step, "val_" + name)) >
                                                  points(inner(run.by_epoch, "val_" + name))));
    return [
        several && legend(), charts([
            ...byEpoch, loss,
            ...finer.map((name) => ({
                             id: name + "-step",
                             title: titleOf(name) + " by step",
                             x: "step",
                             curves: runs.map((run) => curve(run, "by_step", "val_" + name))
                         }))
        ])
    ];
}

// Runs or keys are rows, whatever there are more of.
function differences() {
    if (!several) { return []; }
    const keys = each(runs.flatMap((run) => Object.keys(run.job)))
                     .filter((key) => each(runs.map((run) => own(run.job, key))).length > 1);
    const cell = (run, key) =>
        (own(run.job, key) === undefined ? h("td.none", "not set")
                                         : h("td", h("span", own(run.job, key))));
    if (keys.length === 0) { return [h("p.note", "The jobs are identical.")]; }
    return [scroll("keys that differ",
                   runs.length < keys.length
                       ? cards("diff", ["key", ...runs.map(nameOf)],
                               keys.map((key) => h("tr", head(h("code", key)),
                                                   runs.map((run) => cell(run, key)))))
                       : cards("diff", ["run", ...keys],
                               runs.map((run) => h("tr", head(nameOf(run)),
                                                   keys.map((key) => cell(run, key))))))];
}

function speed() {
    const made = charts(
        [
            ["learning_rate", "learning-rate", "learning rate"],
            ["examples_per_s", "throughput", "examples per second"],
            ["step_ms", "step-time", "step time, ms"],
            ["waiting_percent", "waiting", "waiting for data, % of step time"],
            ["virtual_ms", "virtual", "step time on the simulated slice, ms"],
        ]
            .filter(([name]) => name !== "learning_rate" ||
                        runs.some((run) => each((inner(run.by_step, name) || { y: [] }).y).length >
                                      1)) // a constant is a fact, below
            .map(([name, id, title]) => ({
                     id,
                     title,
                     x: "step",
                     fromZero: true,
                     curves: runs.map((run, i) => ({
                                          label: several ? run.label : title,
                                          colour: i,
                                          line: inner(run.by_step, name)
                                      }))
                 })));
    const last = (run, name) => {
        const line = inner(run.by_step, name);
        return line && line.y.at(-1);
    }, worked = (run) => run.epochs.wall_s > 0;
    return [
        facts(
            [
                "examples per second",
                (run) => worked(run) && number(run.epochs.examples / run.epochs.wall_s)
            ],
            ["step time", (run) => run.steps.n > 0 && seconds(run.steps.seconds / run.steps.n)],
            [
                "step time on the simulated slice",
                (run) => last(run, "virtual_ms") && seconds(last(run, "virtual_ms") / 1e3)
            ],
            ["time in training steps", (run) => worked(run) && seconds(run.epochs.wall_s)],
            [
                "waiting for data",
                (run) => worked(run) &&
                    [
                        seconds(run.epochs.waited_s), " ",
                        h("small",
                          (100 * run.epochs.waited_s / run.epochs.wall_s).toFixed(0) + " %")
                    ]
            ],
            [
                "last learning rate",
                (run) =>
                    last(run, "learning_rate") !== undefined && number(last(run, "learning_rate"))
            ]),
        made &&
            h("p.note",
              "Step times include waiting for data. " +
                  "They do not include compiling, checkpoints and validation."),
        made
    ];
}

// The layers of a model, in the order of the job. What they read is a column where it is not always
// the layer before.
function layers(run) {
    const list = inner(run.start, "layers"), all = start(run, "layers_in_all");
    if (!Array.isArray(list) || list.length === 0) { return null; }
    const texts = (layer, key) => [inner(layer, key) || []].flat().filter(isPlain);
    const columns = [
        ["kind", (layer) => own(layer, "kind")],
        ["output of one example", (layer) => texts(layer, "output").join(" \u00d7 ") || "a number"],
        ["parameters", (layer) => count(own(layer, "parameters"))],
        ["trainable", (layer) => count(own(layer, "trainable"))],
        ["reads", (layer) => texts(layer, "inputs").join(", ")]
    ].filter(([, of]) => list.some(of));
    const row = (layer) =>
        h("tr", head(h("code", own(layer, "name"))), columns.map(([, of]) => h("td", of(layer))));
    const rest = all > list.length &&
        h("tr", wide(columns.length + 1, "and " + grouped(all - list.length) + " more layers"));
    return scroll("layers",
                  cards("model", ["layer", ...columns.map(([title]) => title)],
                        [...list.map(row), rest].filter(Boolean)));
}

// Runs with the same layers share a table.
function model() {
    const text = (run) => JSON.stringify(inner(run.start, "layers")), same = new Map();
    runs.forEach((run) => same.set(text(run), [...same.get(text(run)) || [], run]));
    const tables =
        [...same.values()].map((group) => [group, layers(group[0])]).filter(([, it]) => it);
    return [
        facts(["parameters", (run) => count(start(run, "parameters"))],
              ["trainable", (run) => count(start(run, "trainable_parameters"))]),
        tables.map(
            ([group, it]) =>
                (same.size === 1
                     ? it
                     : h("details", h("summary", group.map((run) => [nameOf(run), " "])), it)))
    ];
}

// Of a parameter server: how old gradients were when they changed the weights.
function workers() {
    const known = (run, of) => run.workers && of(run.workers);
    const updates = (w) => w.staleness.reduce((a, b) => a + b, 0),
          share = (n, w) => [count(n), " ", h("small", (100 * n / updates(w)).toFixed(1) + " %")];
    const longest =
        Math.max(0, ...runs.map((run) => (run.workers ? run.workers.staleness.length : 0)));
    const made = facts(
        ["workers at the end", (run) => known(run, (w) => count(w.n))],
        ["workers lost", (run) => known(run, (w) => count(w.lost))],
        ["batches computed again", (run) => known(run, (w) => count(w.again))],
        ["gradients dropped, too late", (run) => known(run, (w) => count(w.dropped))],
        [
            "average staleness",
            (run) => known(run,
                           (w) => updates(w) > 0 &&
                               number(w.staleness.reduce((a, n, i) => a + n * i, 0) / updates(w)))
        ],
        ...Array.from(
            { length: longest },
            (_,
             i) => ["updates of staleness " + i + (i === 64 ? " or more" : ""),
                    (run) => known(run, (w) => w.staleness[i] > 0 && share(w.staleness[i], w))]));
    return [
        made,
        made &&
            h("p.note",
              "The staleness of an update is the number of other updates between " +
                  "its worker's pull of the weights and its push of gradients.")
    ];
}

// Both as bars of one scale; words beside them say the same.
function bars(run) {
    const rows =
              [["announced", whole(start(run, "memory_bytes"))], ["process, peak", run.peak_rss]],
          most = Math.max(...rows.map(([, n]) => n));
    const bar = (n, i) => {
        const made = h("span." + colour(i));
        made.style.width = 100 * n / most + "%";
        return h("span.bar", made);
    };
    return most > 0 &&
        set(h("div.bars", rows.map(([label, n], i) => n > 0 && [h("span", label), bar(n, i)])),
            { "aria-hidden": "true" });
}

function memory() {
    const parts = [
        ["announced before the first step", "memory_bytes"], ["training steps", "steps_bytes"],
        ["evaluation", "evaluation_bytes"], ["weights and optimizer", "state_bytes"],
        ["data", "data_bytes"], ["program", "program_bytes"]
    ];
    const made = facts(...parts.map(([label, key]) => [label, (run) => bytes(start(run, key))]),
                       ["measured: peak of the process", (run) => bytes(run.peak_rss)],
                       ["memory of the machine", (run) => bytes(host(run, "memory_bytes"))]);
    return [
        made, made && !several && runs[0].start && bars(runs[0]),
        made &&
            h("p.note",
              "Steps, evaluation, weights and data are counted; " +
                  "the program with its libraries is estimated. " +
                  "Measured is the largest resident set of the process.")
    ];
}

// The slice is an image, so that its style is its own.
function placement() {
    const image = (run) => set(h("img"), {
        alt: visible("replicas on the slice " + start(run, "slice")),
        src: "data:image/svg+xml," + encodeURIComponent(run.picture)
    });
    const shape = (run) => {
        const is = inner(run.start, "computation_shape");
        return Array.isArray(is) && is.length > 0 && "[" + is.join(", ") + "]";
    };
    const counts = [
        ["replicas", "replicas"], ["logical devices per replica", "logical_devices"],
        ["computation shape", null], ["input hosts", "hosts"], ["compute threads", "threads"],
        ["global batch", "global_batch"]
    ];
    return [
        facts(["strategy", (run) => start(run, "strategy")],
              ["devices", (run) => start(run, "device")],
              ...counts.map(
                  ([label, key]) => [label, key ? (run) => count(start(run, key)) : shape])),
        runs.map((run) => run.picture &&
                     h("figure.slice", image(run), several && h("figcaption", nameOf(run))))
    ];
}

// `config show --origin`: the origin stands behind the last " # " of a line.
function job() {
    const row = (line) => {
        const at = line.lastIndexOf(" # "), key = at < 0 ? line : line.slice(0, at),
              origin = at < 0 ? null : line.slice(at + 3);
        return [
            h(origin === "default" ? "span.row.preset" : "span.row", h("span.say", key.trimEnd()),
              origin !== null && h("span.from", origin.trimEnd())),
            "\n"
        ];
    };
    return runs.map((run) => {
        if (!run.config) { return null; }
        const pre = set(h("pre.config", run.config.replace(/\n$/, "").split("\n").map(row)),
                        { tabindex: 0, "aria-label": "the job" });
        const made = h("details", h("summary", nameOf(run)), pre);
        made.open = !several;
        return made;
    });
}

function dataRead() {
    const said = {
        ends: "; of the first and last 64 KiB of each file",
        sizes: "; of file sizes only"
    },
          parts = ["train", "validation", "test"];
    const of = (run, part, key) => own(run.data[part], key),
          sha = (run, part) => run.data[part] && (of(run, part, "sha256") || NaN);
    const cell = (run, part) => run.data[part] &&
        (of(run, part, "sha256") ?
             [
                 hash(of(run, part, "sha256")), h("br"),
                 h("small", times(whole(of(run, part, "files")) || 0, "file"), ", ",
                   bytes(of(run, part, "bytes")), own(said, of(run, part, "hashed")))
             ] :
             h("span.damage", of(run, part, "error")));
    const same = runs.every(
        (run) => ["train", "validation"].every((part) => sha(run, part) === sha(runs[0], part)));
    const first = (part) => [inner(runs[0].data[part], "first") || []].flat(),
          left = (part) => of(runs[0], part, "files") - first(part).length;
    const files = several
        ? []
        : parts
              .flatMap(
                  (part) => [...first(part).map((f) =>
                                                    h("tr", head(h("code", own(f, "path"))),
                                                      [
                                                          own(f, "what"), bytes(own(f, "bytes")),
                                                          moment(own(f, "modified")),
                                                          hash(own(f, "sha256"))
                                                      ].map((it) => h("td", it)))),
                             left(part) > 0 &&
                                 h("tr",
                                   wide(5, "and " + grouped(left(part)) + " more of " + part))])
              .filter(Boolean);
    return [
        several && runs.every((run) => sha(run, "train")) &&
            h("p.note.verdict",
              same ? "All runs used the same data." : "The runs used different data."),
        facts(
            [
                "training data, SHA-256",
                (run) => cell(run, "train") ||
                    (run.format === "synthetic" && "generated from the seed; no files")
            ],
            ["validation data, SHA-256", (run) => cell(run, "validation")],
            ["test data, SHA-256", (run) => cell(run, "test")],
            [
                "examples, training + validation",
                (run) => count(start(run, "train_examples")) &&
                    [
                        count(start(run, "train_examples")), " + ",
                        count(start(run, "validation_examples"))
                    ]
            ]),
        files.length > 0 &&
            h("details", h("summary", "Files"),
              scroll("files",
                     cards("files", ["file", "for", "size", "last changed", "SHA-256"], files)))
    ];
}

function environment() {
    const system = (run) => ["system", "release", "machine"]
                                .map((key) => host(run, key))
                                .filter(Boolean)
                                .join(" ");
    return [facts(
        ["weights, SHA-256", (run) => hash(run.weights_sha256)],
        ["job, SHA-256", (run) => hash(run.job_sha256)], ["seed", (run) => start(run, "seed")],
        ["run directory", (run) => h("code", run.path)],
        ["began", (run) => time(start(run, "time"))], ["dtrain", (run) => start(run, "dtrain")],
        ["back end", (run) => start(run, "backend")], ["kernels", (run) => start(run, "kernels")],
        ["instruction set", (run) => host(run, "instructions")],
        ["machine", (run) => host(run, "name")], ["processor", (run) => host(run, "processor")],
        ["cores", (run) => count(host(run, "cores"))], ["system", system])];
}

// Of a long list the first and last ones are there; between them a row says how many are not.
function shortened(list, inAll, columns, what, row) {
    const rows = list.map(row);
    return inAll > list.length ?
        [
            ...rows.slice(0, 20),
            h("tr", wide(columns, grouped(inAll - list.length) + " " + what + " not shown")),
            ...rows.slice(20)
        ] :
        rows;
}

function checkpoints() {
    const row = (c) => h(
        "tr", head(h("code", c.name)), c.damage ? set(h("td.damage", c.damage), { colspan: 4 }) : [
            [count(c.step), c.final && [" ", h("small", "final")]], moment(c.saved_s),
            bytes(c.bytes), hash(c.weights_sha256)
        ].map((cell) => h("td", cell)));
    const titles = ["checkpoint", "step", "saved", "size", "weights, SHA-256"];
    return runs.filter((run) => run.checkpoints.length > 0).map((run) => {
        const n = run.checkpoints_in_all;
        const rows = shortened(run.checkpoints, n, 5, "checkpoints", row);
        return ofRun(run, times(n, "checkpoint"),
                     scroll("checkpoints", cards("checkpoints", titles, rows)));
    });
}

function events() {
    const line = (m) => h("li." + m.kind, h("b", m.who || m.kind), " ",
                          m.step > 0 ? h("small", "step " + grouped(m.step))
                                     : m.epoch > 0 && h("small", "epoch " + grouped(m.epoch)),
                          " ", h("span.words", m.text),
                          m.left_out > 0 && h("small", " … " + m.left_out + " more bytes"));
    const attempt = (a) =>
        h("tr", head(time(a.began)),
          h("td", count(a.from), " → ", count(a.to), a.resumed && h("small", " resumed")),
          h("td", seconds(a.seconds)),
          h("td", a.over ? [a.how, h("small", " exit " + a.exit)] : "no end recorded"));
    const leftOut = (kind) =>
        h("p.note", count(kind.n), " of ", count(kind.of), " lines of kind ",
          kind.kind + " not shown; the first and last ", kind.kept, " are below.");
    const titles = ["began", "steps", "took", "ended"];
    const table = (run) => {
        const rows = shortened(run.attempts, run.attempts_in_all, 4, "attempts", attempt);
        return h("div.scroll", cards("attempts", titles, rows, "Attempts"));
    };
    const number =
        (run) => [run.messages.length > 0 && times(run.messages.length, "message") + ", ",
                  times(run.attempts_in_all, "attempt")];
    return runs.filter((run) => run.attempts.length > 0 || run.messages.length > 0)
        .map((run) => ofRun(run, number(run), run.messages_left_out.map(leftOut),
                            run.messages.length > 0 && h("ul.said", run.messages.map(line)),
                            run.attempts.length > 0 && table(run)));
}

// ---- the page ----

const sections =
    [
        ["summary", "Summary", summary],
        ["curves", "Curves", curves],
        ["evaluation", "Evaluation", evaluation],
        ["differences", "Differences between jobs", differences],
        ["model", "Model", model],
        ["speed", "Learning rate and speed", speed],
        ["workers", "Workers", workers],
        ["memory", "Memory", memory],
        ["placement", "Placement", placement],
        ["job", "Job", job],
        ["data", "Data", dataRead],
        ["environment", "Hashes and environment", environment],
        ["checkpoints", "Checkpoints", checkpoints],
        ["events", "Warnings and events", events],
    ]
        .map(([id, title, make]) =>
                 ({ id, title, kids: make().flat(Infinity).filter((kid) => kid instanceof Node) }))
        .filter(({ kids }) => kids.length > 0);

const theme = (word, i) => {
    const made = set(h("input"), { type: "radio", name: "theme", id: "theme-" + word });
    made.checked = i === 0;
    return h("label", made, word);
};
put(document.body,
    h("header",
      h("div", h("h1", document.title),
        h("p",
          several ?
              runs.length + " runs" :
              [
                  runs[0].start &&
                      [start(runs[0], "device"), ", began ", time(runs[0].attempts[0].began), ", "],
                  runs[0].path
              ])),
      h("fieldset.theme", h("legend.unseen", "Colours"), ["auto", "light", "dark"].map(theme))),
    set(h("nav", sections.map(({ id, title }) => set(h("a", title), { href: "#" + id }))),
        { "aria-label": "sections" }),
    h("main",
      sections.map(({ id, title, kids }) =>
                       set(h("section", set(h("h2", title), { id: id + "-title" }), kids),
                           { id, "aria-labelledby": id + "-title" }))),
    h("footer", "written by dtrain " + dtrain));

// Rows of tables are cards on narrow pages, and where a table is wider than its place: nothing is
// to be cut off.
function stack() {
    const tables = [...document.querySelectorAll("table.cards")], narrow = innerWidth <= 820;
    const place = (table) => table.closest(".scroll") || table.parentElement;
    const isCut = (table) => place(table).scrollWidth > place(table).clientWidth + 1;
    tables.forEach((table) => table.classList.toggle("stacked", narrow));
    if (!narrow) { tables.filter(isCut).forEach((table) => table.classList.add("stacked")); }
}
stack();
addEventListener("resize", stack);
document.addEventListener("toggle", stack, true);
