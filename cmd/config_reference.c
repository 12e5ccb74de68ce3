/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain config reference: prints every key of a job file as Markdown (docs/job-file.md), generated
 * from the tables that read job files. The tables have no examples, so these are written here, one
 * for each section except `backend` and `partition`. Together they form one job.
 */
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "print.h"
#include "verb.h"

struct config_reference {
    struct common common;
};

/* ---- all keys ---- */

struct row {
    char *path, *type, *help, *preset, *choices, *sort, *kind, *about;
    bool refused, required, has_min, has_max, above_min, below_max;
    double min, max;
};
/* If the allowed names of a value take more characters than this, as those of activations do, they
 * are not listed. */
enum { MOST_SHOWN = 300 };
struct rows {
    int n, room;
    struct row *at;
};

static char *copy(const char *text) { return dt_strdup(text ? text : ""); }

static char *join(const char *const *words) {
    dt_local_str t = {0};
    for (int i = 0; words && words[i]; i++) dt_str_printf(&t, "%s`%s`", i ? ", " : "", words[i]);
    return dt_strdup(dt_str_text(&t));
}

static void add(const dt_job_key *k, void *user) {
    struct rows *all = user;
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 1024;
        all->at = dt_realloc(all->at, (size_t)all->room * sizeof *all->at);
    }
    all->at[all->n++] = (struct row){
        .path = copy(k->path),
        .type = copy(k->type),
        .help = copy(k->help),
        .preset = copy(k->preset),
        .choices = join(k->choices),
        .sort = copy(k->sort),
        .kind = copy(k->kind),
        .about = copy(k->about),
        .refused = k->refused,
        .required = k->required,
        .has_min = k->has_min,
        .has_max = k->has_max,
        .above_min = k->above_min,
        .below_max = k->below_max,
        .min = k->min,
        .max = k->max,
    };
}

static void release(const struct rows *all) {
    for (int i = 0; i < all->n; i++) {
        const struct row *r = &all->at[i];
        char *const texts[] = {r->path,    r->type, r->help, r->preset,
                               r->choices, r->sort, r->kind, r->about};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    }
    free(all->at);
}

/* ---- cells and rows ---- */

static void put_cell(dt_str *to, const char *text) {
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*') dt_str_putc(to, '\\');
        dt_str_putc(to, *text);
    }
}

static void put_range(dt_str *to, const struct row *r) {
    if (r->has_min && r->has_max)
        dt_str_printf(to, "%s%.10g to %s%.10g", r->above_min ? "above " : "", r->min,
                      r->below_max ? "below " : "", r->max);
    else if (r->has_min)
        dt_str_printf(to, "%s%.10g", r->above_min ? "above " : "at least ", r->min);
}

static void put_row(dt_str *to, const struct row *r, const char *name) {
    dt_str_printf(to, "| `%s` | ", name);
    put_cell(to, r->type);
    dt_str_puts(to, r->required ? " | required | " : *r->preset ? " | `" : " | | ");
    if (!r->required && *r->preset) dt_str_printf(to, "%s` | ", r->preset);
    put_range(to, r);
    dt_str_puts(to, " | ");
    put_cell(to, *r->help ? r->help : "as in Keras");
    if (strlen(r->choices) > MOST_SHOWN) dt_str_puts(to, ": [one of these](#activations)");
    else if (strstr(r->type, "name"))
        dt_str_printf(to, "%s%s", *r->choices ? ": " : "", r->choices);
    dt_str_puts(to, " |\n");
}

static void put_head(dt_str *to) {
    dt_str_puts(to, "\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n");
}

/* ---- tables ---- */

/* Adjacent rows of the table of keys that belong to one section or one kind, such as all keys of
 * Dense. The first `stem` bytes of each path are the same for all rows and are not printed. */
struct stretch {
    const struct row *at;
    int n;
    size_t stem;
};

static bool same(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Whether Keras has the key, but dtrain lacks it or accepts only one value. Such keys are listed
 * together at the end of the page. */
static bool is_later(const struct row *r) {
    return r->refused &&
           (same(r->help, "not implemented yet") || strncmp(r->help, "only ", 5) == 0);
}

/* Lists the keys that are refused because users may know them from elsewhere, and what to write
 * instead. */
static void put_refused(dt_str *to, const struct stretch *s) {
    bool any = false;
    for (int i = 0; i < s->n; i++) {
        if (!s->at[i].refused || is_later(&s->at[i])) continue;
        dt_str_printf(
            to, "%s`%s`: ", any ? "; " : "\nKeys that are not accepted, and what to do instead: ",
            s->at[i].path + s->stem);
        put_cell(to, s->at[i].help);
        any = true;
    }
    dt_str_puts(to, any ? ".\n" : "");
}

static void put_table(dt_str *to, const struct stretch *s,
                      bool (*leave_out)(const struct rows *all, const struct row *r),
                      const struct rows *all) {
    bool head = false;
    for (int i = 0; i < s->n; i++) {
        const struct row *r = &s->at[i];
        if (r->refused || strlen(r->path) <= s->stem || (leave_out && leave_out(all, r))) continue;
        if (!head) put_head(to);
        head = true;
        put_row(to, r, r->path + s->stem);
    }
    put_refused(to, s);
}

/* ---- sections ---- */

static const struct {
    const char *name, *example;
} sections[] = {
    {"", "version: 1\nname: flowers\nseed: 42\nlet: {width: 32}\n"},
    {"backend", NULL},
    {"strategy", "strategy: {type: mirrored, replicas: 2}\n"},
    {"partition", NULL},
    {"reproducible", "reproducible: {shards: 8}\n"},
    {"dataset", "dataset:\n  format: csv\n  train: flowers.csv\n  element:\n    x: {columns: "
                "[length, width], dtype: float32}\n"
                "    label: {column: kind, dtype: int32, vocabulary: [round, long]}\n  map: {x: "
                "[normalize: {mean: 3, std: 2}]}\n"
                "  validation_split: 0.2\n  shuffle: true\n  global_batch_size: 32\n"},
    {"model", "model:\n  type: sequential\n  layers:\n    - Input: {name: x, shape: [2]}\n    - "
              "Dense: {units: \"{width}\", activation: relu}\n"
              "    - Dropout: {rate: 0.1}\n    - Dense: {units: 2, name: logits}\n"},
    {"compile",
     "compile:\n  optimizer: {Adam: {learning_rate: {CosineDecay: {initial_learning_rate: 0.01, "
     "decay_steps: 1000}}}}\n"
     "  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n  metrics: [accuracy]\n"},
    {"fit", "fit:\n  epochs: 10\n  callbacks:\n    - EarlyStopping: {monitor: val_loss, patience: "
            "3}\n    - CSVLogger: {filename: log.csv}\n"},
    {"checkpoint", "checkpoint: {save_freq: 100, max_to_keep: 2}\n"},
    {"output", "output: {dir: \"runs/{name}\", tensorboard: true}\n"},
};

static struct stretch section_rows(const struct rows *all, const char *name) {
    struct stretch s = {NULL, 0, *name ? strlen(name) + 1 : 0};
    for (int i = 0; i < all->n; i++) {
        const struct row *r = &all->at[i];
        bool is = !*r->kind &&
                  (*name ? strncmp(r->path, name, s.stem - 1) == 0 && r->path[s.stem - 1] == '.'
                         : !strpbrk(r->path, ".["));
        if (is && !s.n) s.at = r;
        s.n += is;
    }
    return s;
}

static void put_section(dt_str *to, const struct rows *all, int i) {
    const struct stretch s = section_rows(all, sections[i].name);
    if (*sections[i].name) dt_str_printf(to, "\n## %s\n", sections[i].name);
    else dt_str_puts(to, "\n## The top level\n");
    put_table(to, &s, NULL, all);
    if (sections[i].example) dt_str_printf(to, "\n```yaml\n%s```\n", sections[i].example);
}

/* ---- kinds ---- */

static const struct {
    const char *sort, *title, *text;
} sorts[] = {
    {"strategy", "Strategies", "Keys of `strategy`, next to `type`."},
    {"format", "Formats of data", "Keys of `dataset`, next to `format`; see [data.md](data.md)."},
    {"step", "Steps of map",
     "In `dataset.map`, by element, a list: `image: [cast: float32, rescale: {scale: 0.5}]`."},
    {"layer", "Layers", "Entries of `model.layers`: a name, `Flatten`, or `{Dense: {units: 10}}`."},
    {"repeat", "Repeat",
     "An entry of `model.layers`, too: `Repeat: {for: {i: 3}, layers: [...]}`, with `\"{i}\"` in "
     "the texts of its layers."},
    {"initializer", "Initialisers", "Values of `kernel_initializer` and its like."},
    {"optimizer", "Optimizers", "Values of `compile.optimizer`."},
    {"schedule", "Learning rate schedules",
     "Values of an optimizer's `learning_rate`, in place of a number."},
    {"loss", "Losses",
     "Values of `compile.loss`; of a model of several outputs a mapping of their names to them."},
    {"metric", "Metrics",
     "Entries of `compile.metrics`. `accuracy` is, as in Keras, BinaryAccuracy of an output of one "
     "number, "
     "SparseCategoricalAccuracy of class numbers, else CategoricalAccuracy."},
    {"callback", "Callbacks", "Entries of `fit.callbacks`; see [callbacks.md](callbacks.md)."},
};
enum { SECTIONS = sizeof sections / sizeof *sections, SORTS = sizeof sorts / sizeof *sorts };

/* Returns the rows of the kind, such as a layer, that row `first` belongs to. */
static struct stretch kind_rows(const struct rows *all, int first) {
    const struct row *r = &all->at[first];
    const char *name = strstr(r->path, r->kind);
    bool beside = !name || same(r->sort, "strategy") || same(r->sort, "format");
    struct stretch s = {
        r, 0, beside ? strcspn(r->path, ".") + 1 : (size_t)(name - r->path) + strlen(r->kind) + 1};
    while (first + s.n < all->n && same(all->at[first + s.n].sort, r->sort) &&
           same(all->at[first + s.n].kind, r->kind))
        s.n++;
    return s;
}

static const char *leaf(const struct row *r) {
    const char *dot = strrchr(r->path, '.');
    return dot ? dot + 1 : r->path;
}

static int count_kinds(const struct rows *all, const char *sort) {
    int n = 0;
    for (int i = 0; i < all->n; i++)
        n += same(all->at[i].sort, sort) && (i == 0 || !same(all->at[i - 1].sort, sort) ||
                                             !same(all->at[i - 1].kind, all->at[i].kind));
    return n;
}

static bool is_alike(const struct row *a, const struct row *b) {
    return same(leaf(a), leaf(b)) && same(a->help, b->help) && same(a->preset, b->preset);
}

/* Whether there are more than 4 kinds of the key's sort (such as layers), and at least two thirds
 * of them have the key with the same description and default, so that it is printed once for
 * all. */
static bool is_common(const struct rows *all, const struct row *r) {
    int n = 0, kinds = count_kinds(all, r->sort);
    for (int i = 0; i < all->n; i++)
        n += !all->at[i].refused && same(all->at[i].sort, r->sort) && is_alike(&all->at[i], r);
    return kinds > 4 && n * 3 >= kinds * 2;
}

static void put_common(dt_str *to, const struct rows *all, const char *sort) {
    bool head = false;
    for (int i = 0; i < all->n; i++) {
        const struct row *r = &all->at[i];
        bool listed = false;
        if (!same(r->sort, sort) || r->refused || !is_common(all, r)) continue;
        for (int k = 0; k < i; k++)
            listed |= same(all->at[k].sort, sort) && is_alike(&all->at[k], r);
        if (listed) continue;
        if (!head) {
            dt_str_puts(to, "\nNearly all have:\n");
            put_head(to);
        }
        head = true;
        put_row(to, r, leaf(r));
    }
}

static void put_sort(dt_str *to, const struct rows *all, int i) {
    dt_str_printf(to, "\n## %s\n\n%s\n", sorts[i].title, sorts[i].text);
    put_common(to, all, sorts[i].sort);
    for (int k = 0; k < all->n; k++) {
        const struct row *r = &all->at[k];
        if (!same(r->sort, sorts[i].sort) ||
            (k && same(all->at[k - 1].sort, r->sort) && same(all->at[k - 1].kind, r->kind)))
            continue;
        const struct stretch s = kind_rows(all, k);
        dt_str_printf(to, "\n### %s\n\n", r->kind);
        put_cell(to, r->about);
        dt_str_putc(to, '\n');
        put_table(to, &s, is_common, all);
    }
}

static void put_activations(dt_str *to, const struct rows *all) {
    for (int i = 0; i < all->n; i++)
        if (same(all->at[i].path, "model.layers[].Dense.activation"))
            dt_str_printf(to, "\n## Activations\n\nValues of `activation`: %s.\n",
                          all->at[i].choices);
}

/* ---- keys that dtrain does not support yet ---- */

/* Begins a list item with the owner of a key, a kind such as Dense or the name of a section. If the
 * key before it has the same owner, only writes ", ". `before` may be NULL. */
static void put_owner(dt_str *to, const struct row *r, const struct row *before) {
    const int n = (int)(*r->kind ? strlen(r->kind) : strcspn(r->path, "."));
    const char *name = *r->kind ? r->kind : r->path;
    const bool again = before && same(before->kind, r->kind) && same(before->sort, r->sort) &&
                       (*r->kind || strncmp(before->path, r->path, (size_t)n + 1) == 0);
    if (again) dt_str_puts(to, ", ");
    else dt_str_printf(to, "\n- %.*s: ", n, name);
}

static void put_later(dt_str *to, const struct rows *all) {
    const struct row *before = NULL;
    dt_str_puts(
        to, "\n## Not implemented yet\n\nThese keys are refused, unless they have the value named "
            "beside them or `null`.\n");
    for (int i = 0; i < all->n; i++) {
        const struct row *r = &all->at[i];
        if (!is_later(r)) continue;
        put_owner(to, r, before);
        dt_str_printf(to, "`%s`", leaf(r));
        if (*r->preset && !same(r->preset, "null")) dt_str_printf(to, " (`%s`)", r->preset);
        before = r;
    }
    dt_str_puts(to, "\n");
}

/* ---- the verb ---- */

static void put_all(dt_str *to, const struct rows *all) {
    dt_str_puts(
        to,
        "# The job file\n\n"
        "A job is one YAML file. This page lists every key; `man dtrain-job` has the same text, "
        "and\n"
        "`dtrain config reference Dense` prints the part about one name.\n\n"
        "- The key decides the type of its value. Integers are digits or an exact `1e3`, "
        "booleans are\n"
        "  `true` and `false`, quoted values are text. `null` removes a known key, as if it were "
        "not there.\n"
        "- Unknown keys are errors. Top-level keys that begin with `x-` are places for "
        "definitions: aliases\n"
        "  and merge keys take from them (`x-dense: &dense {units: 64}`, then `Dense: {<<: "
        "*dense, name: a}`).\n"
        "  A mapping's own keys win over merged ones; of a list of mappings, the first wins.\n"
        "- Paths are relative to the file that contains them. `output.dir`, `checkpoint.resume` "
        "and\n"
        "  `model.init_from` are relative to the working directory.\n"
        "- Any key can be set on the command line: `dtrain fit job.yaml fit.epochs=3`. Entries "
        "of lists\n"
        "  have numbers, from 0: `model.layers.1.Dense.units=64`.\n"
        "- `{name}`, `{run_dir}` and variables from `let` are replaced in all texts. "
        "Paths of callbacks begin\n"
        "  in `{run_dir}`, with or without it in front. `${VARIABLE}` and\n"
        "  `${VARIABLE:-default}` are replaced in paths only, and records keep them as they are "
        "written\n"
        "  ([security.md](security.md)). A path may begin with `~/`, your home directory.\n"
        "- For completion and checks in an editor, run `dtrain config schema > "
        "dtrain.schema.json` and\n"
        "  begin the job with `# yaml-language-server: $schema=dtrain.schema.json`.\n\n"
        "The examples below, one after the other, form a complete job.\n");
    for (int i = 0; i < SECTIONS; i++) put_section(to, all, i);
    for (int i = 0; i < SORTS; i++) {
        put_sort(to, all, i);
        if (same(sorts[i].sort, "repeat")) put_activations(to, all);
    }
    put_later(to, all);
}

/* Prints the keys of the named kinds or sections as text for a terminal, instead of Markdown. */
static int print_names(const struct call *call) {
    dt_local_str t = {0};
    dt_status *s = NULL;
    for (int i = 0; i < call->operands.n && !s; i++) {
        const char *name = call->operands.at[i];
        dt_str_puts(&t, i ? "\n" : "");
        if (kinds_put(&t, name)) continue;
        char *nearest = kinds_nearest(name);
        s = usage_error(call, "nothing in a job file is called '%s'%s%s%s", cut_word(name).text,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
        free(nearest);
    }
    if (!s) out_page(call->out, dt_str_text(&t));
    return out_error(call->out, s);
}

static int run(const struct call *call) {
    dt_local_str t = {0};
    if (call->operands.n) return print_names(call);
    struct rows all = {0};
    dt_job_keys(add, &all);
    put_all(&t, &all);
    out_text(call->out, dt_str_text(&t));
    release(&all);
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_config_reference = {
    .name = "config reference",
    .group = "Inspect",
    .line = "print the reference of job files (every key, layer, optimizer, loss, ...) as Markdown",
    .operands = "[NAME...]",
    .examples =
        "  dtrain config reference > docs/job-file.md\n"
        "  dtrain config reference Dense Adam        the keys of a layer, of an optimizer\n",
    .more = "Generated from the tables that dtrain reads job files with, like the manual page "
            "dtrain-job(5) and the schema.\n",
    .options = options,
    .size = sizeof(struct config_reference),
    .run = run,
};
