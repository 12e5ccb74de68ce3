/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a row of outputs, by format:
 *
 *     CSV           first `file`, if examples are files; then columns that are kept; then those
 *                   of each output, here one named `logits`; last `error`, if rows with faults
 *                   are written, too. An output has one of these sets of columns:
 *                       all scores              logits_0, logits_1, ..., or logits_ring, ... if
 *                                               classes have names
 *                       a regression            the names of the target, if it has names
 *                       the K largest scores    logits_class_0, logits_score_0, ...
 *                       a class by threshold    logits_class, logits_score
 *                       labels by probability   logits_classes, such as a|b, and logits_scores
 *     NPY, NPZ      an array (rows, ...) of the output's type; NPZ has one for each output, with
 *                   its name. For the K largest scores it is the array NAME_class of class numbers,
 *                   int32 (rows, K), and in NPZ also the array NAME_score; by threshold, K is 1.
 *     JSON lines    an object; see rows_json.c
 */
#include "format/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "op/cells.h"

/* A value of the current row, in the type of its column. */
typedef union dt_row_cell {
    float f;
    double d;
    int32_t i;
    char text[16]; /* the index of a class without a name, as text */
} dt_row_cell;

enum { MOST_TOP = 1 << 20 };

/* ---- values ---- */

int64_t dt_row_values(const dt_predicted_rows *p, int o) {
    dt_type row = p->values[o]->type;
    row.dim[0] = 1;
    return dt_type_elements(&row);
}

static const dt_output_meaning *meaning_of(const dt_predicted_rows *p, int o) {
    static const dt_output_meaning numbers;
    return p->meaning ? &p->meaning[o] : &numbers;
}

/* Whether the output is a single label, which applies or not: it has one value and two classes. */
static bool is_lone(const dt_predicted_rows *p, int o) {
    return meaning_of(p, o)->kind == DT_OUTPUT_LABELS && dt_row_values(p, o) == 1;
}

int64_t dt_row_scores(const dt_predicted_rows *p, int o) {
    return is_lone(p, o) ? 2 : dt_row_values(p, o);
}

bool dt_row_is_decided(const dt_row_writer *w, const dt_predicted_rows *p, int o) {
    const bool classes = is_lone(p, o) || meaning_of(p, o)->kind == DT_OUTPUT_CLASSES;
    return w->options.threshold > 0 && classes && dt_row_scores(p, o) == 2;
}

/* Whether the output lists all classes above a probability, whose number differs from row to
 * row. */
static bool is_list(const dt_row_writer *w, const dt_predicted_rows *p, int o) {
    return w->options.classes_above > 0 && meaning_of(p, o)->kind != DT_OUTPUT_VALUES &&
           p->values[o]->type.rank <= 2;
}

int64_t dt_row_top(const dt_row_writer *w, const dt_predicted_rows *p, int o) {
    const int64_t scores = dt_row_scores(p, o);
    if (dt_row_is_decided(w, p, o)) return 1;
    if (is_list(w, p, o)) return scores;
    return scores == 1 ? 0 : w->options.top < scores ? w->options.top : scores;
}

const char *dt_row_class(const dt_predicted_rows *p, int o, int64_t i) {
    const dt_output_meaning *m = meaning_of(p, o);
    /* whether classes are those of an example; outputs of a higher rank have classes at each step
     * or pixel */
    const bool flat = p->values[o]->type.rank <= 2;
    return flat && m->kind != DT_OUTPUT_VALUES && i < m->n_names ? m->names[i] : NULL;
}

/* Returns the name of value i of the target; NULL: it has no name, or a column that is kept has the
 * same name. */
static const char *value_name(const dt_predicted_rows *p, int o, int64_t i) {
    const dt_output_meaning *m = meaning_of(p, o);
    if (m->kind != DT_OUTPUT_VALUES || m->n_names != dt_row_values(p, o)) return NULL;
    for (int k = 0; k < p->n_kept; k++)
        if (strcmp(p->kept_names[k], m->names[i]) == 0) return NULL;
    return m->names[i];
}

/* Computes the sigmoid. The argument of exp is at most 0, so exp cannot overflow. */
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

static void softmax(double *x, int64_t n) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - most);
    for (int64_t i = 0; i < n; i++) x[i] = exp(x[i] - most) / sum;
}

void dt_row_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    const dt_output_meaning *m = meaning_of(p, o);
    const dt_tensor *t = p->values[o];
    const dt_view view = {.type = t->type, .data = t->data};
    const int64_t n = dt_row_values(p, o), last = t->type.dim[t->type.rank - 1];
    double *x = w->score;
    for (int64_t i = 0; i < n; i++) x[i] = dt_cell_double(&view, row * n + i);
    if (is_lone(p, o)) {
        const double value = x[0];
        x[0] = m->logits ? sigmoid(-value) : 1 - value;
        x[1] = m->logits ? sigmoid(value) : value;
        return;
    }
    if (m->logits && m->kind == DT_OUTPUT_CLASSES)
        for (int64_t i = 0; i < n; i += last) softmax(x + i, last);
    if (m->logits && m->kind == DT_OUTPUT_LABELS)
        for (int64_t i = 0; i < n; i++) x[i] = sigmoid(x[i]);
}

/* Finds the largest scores by inserting them into a sorted list, which is usually short. */
int dt_row_rank(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row) {
    const int64_t scores = dt_row_scores(p, o), most = dt_row_top(w, p, o);
    const bool listed = is_list(w, p, o);
    int n = 0;
    dt_row_score(w, p, o, row);
    if (dt_row_is_decided(w, p, o)) {
        const int64_t class = w->score[1] >= w->options.threshold;
        w->ranked[0] = (dt_ranked){class, w->score[class]};
        return 1;
    }
    for (int64_t i = 0; i < scores; i++) {
        dt_ranked x = {i, w->score[i]};
        int at = n;
        if (listed && !(x.value > w->options.classes_above)) continue;
        while (at > 0 && (w->ranked[at - 1].value < x.value ||
                          (isnan(w->ranked[at - 1].value) && !isnan(x.value))))
            at--;
        if (at == most) continue;
        n += n < most;
        memmove(&w->ranked[at + 1], &w->ranked[at], (size_t)(n - at - 1) * sizeof x);
        w->ranked[at] = x;
    }
    return n;
}

/* ---- columns ---- */

static dt_element_spec *add(dt_row_writer *w, dt_type row, const char *name, const char *part) {
    dt_element_spec *c = &w->column[w->out.n++];
    *c = (dt_element_spec){.name = dt_arena_printf(w->arena, "%s%s", name, part), .type = row};
    return c;
}

/* Returns the largest number of columns that an output may need. */
static int64_t columns_of(const dt_row_writer *w, const dt_predicted_rows *p, int o) {
    const int64_t top = dt_row_top(w, p, o);
    return w->kind->content != DT_CONTENT_TABLE || is_list(w, p, o) ? 2
           : top > 0                                                ? 2 * top
                                                                    : dt_row_scores(p, o);
}

static void add_lists(dt_row_writer *w, const char *name) {
    const dt_type text = dt_scalar_type(DT_UINT8);
    add(w, text, name, "_classes")->text = true;
    add(w, text, name, "_scores")->text = true;
}

static void add_cells(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    const dt_type score = dt_scalar_type(p->values[o]->type.dtype == DT_FLOAT32 ? DT_FLOAT32
                                                                                : DT_FLOAT64),
                  number = dt_scalar_type(DT_INT32);
    const int64_t top = dt_row_top(w, p, o);
    const bool decided = dt_row_is_decided(w, p, o);
    for (int64_t i = 0; i < (top > 0 ? top : dt_row_scores(p, o)); i++) {
        const char *class = dt_row_class(p, o, i),
                   *digits = decided ? "" : dt_arena_printf(w->arena, "_%lld", (long long)i);
        if (top > 0) {
            add(w, number, p->names[o], dt_arena_printf(w->arena, "_class%s", digits))->text =
                dt_row_class(p, o, 0) != NULL;
            add(w, score, p->names[o], dt_arena_printf(w->arena, "_score%s", digits));
        } else if (value_name(p, o, i)) {
            add(w, score, value_name(p, o, i), "");
        } else {
            add(w, score, p->names[o], class ? dt_arena_printf(w->arena, "_%s", class) : digits);
        }
    }
}

static void add_arrays(dt_row_writer *w, const dt_predicted_rows *p, int o) {
    const dt_type *t = &p->values[o]->type;
    const int64_t top = dt_row_top(w, p, o);
    if (top == 0) {
        add(w, dt_type_of(t->dtype, t->rank - 1, t->dim + 1), p->names[o], "");
        return;
    }
    add(w, dt_type_of(DT_INT32, 1, &top), p->names[o], "_class");
    if (w->kind->content != DT_CONTENT_ARRAY)
        add(w, dt_type_of(t->dtype, 1, &top), p->names[o], "_score");
}

/* ---- writing rows ---- */

/* Sets value `at` of the current row to the name of a class or, if it has none, to its index: as
 * text in a column of texts, else as int32. */
static void fill_class(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t class, int at) {
    const char *name = dt_row_class(p, o, class);
    dt_row_cell *cell = &w->cell[at];
    w->row[at] = name ? (const void *)name : cell;
    if (w->column[at].text && !name)
        snprintf(cell->text, sizeof cell->text, "%lld", (long long)class);
    else cell->i = (int32_t) class;
}

/* Sets the values *at and *at + 1 of the current row to the selected classes and their scores, each
 * as one text: a|b and 0.9|0.6. Adds 2 to *at. */
static void fill_lists(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int *at) {
    const int n = dt_row_rank(w, p, o, row);
    dt_str *classes = &w->joined[2 * o], *scores = classes + 1;
    dt_str_clear(classes);
    dt_str_clear(scores);
    for (int i = 0; i < n; i++) {
        const char *name = dt_row_class(p, o, w->ranked[i].index);
        if (name) dt_str_printf(classes, i ? "|%s" : "%s", name);
        else dt_str_printf(classes, i ? "|%lld" : "%lld", (long long)w->ranked[i].index);
        dt_str_puts(scores, i ? "|" : "");
        dt_str_float(scores, (float)w->ranked[i].value);
    }
    w->row[(*at)++] = dt_str_text(classes);
    w->row[(*at)++] = dt_str_text(scores);
}

/* Sets the values of the current row from *at on to the scores of output o or, if some are
 * selected, to the class and the score of each of these. *at becomes the column after them. */
static void fill_cells(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int *at) {
    const int64_t top = dt_row_top(w, p, o),
                  n = top > 0 ? dt_row_rank(w, p, o, row) : dt_row_scores(p, o);
    if (top == 0) dt_row_score(w, p, o, row);
    for (int64_t i = 0; i < n; i++, ++*at) {
        const int64_t class = top > 0 ? w->ranked[i].index : i;
        if (top > 0) fill_class(w, p, o, class, (*at)++);
        const dt_view cell = {.type = w->column[*at].type, .data = &w->cell[*at]};
        dt_cell_set_double(&cell, 0, w->score[class]);
        w->row[*at] = cell.data;
    }
}

static void fill_arrays(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int *at) {
    const dt_tensor *t = p->values[o];
    int32_t *class = (int32_t *)&w->largest[2 * o * w->most_top];
    if (dt_row_top(w, p, o) == 0) {
        w->row[(*at)++] =
            t->data + row * dt_row_values(p, o) * (int64_t)dt_dtype_size(t->type.dtype);
        return;
    }
    const int n = dt_row_rank(w, p, o, row);
    for (int i = 0; i < n; i++) class[i] = (int32_t)w->ranked[i].index;
    w->row[(*at)++] = class;
    if (w->kind->content == DT_CONTENT_ARRAY) return;
    const dt_view score = {.type = w->column[*at].type,
                           .data = &w->largest[(2 * o + 1) * w->most_top]};
    for (int i = 0; i < n; i++) dt_cell_set_double(&score, i, w->score[class[i]]);
    w->row[(*at)++] = score.data;
}

static bool is_object(const dt_row_writer *w) { return w->kind->content == DT_CONTENT_RECORDS; }

static dt_status *put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row) {
    int at = 0;
    if (is_object(w)) {
        dt_row_json(w, p, row);
        w->out.rows++;
        return w->out.text.size > 1 << 20 ? dt_output_flush(&w->out) : NULL;
    }
    if (p->files && w->kind->content == DT_CONTENT_TABLE) w->row[at++] = p->files[row];
    for (int i = 0; i < p->n_kept; i++) {
        const dt_copied_value *k = &p->kept[row * p->n_kept + i];
        w->row[at++] = k->json && strcmp(k->text, "null") == 0 ? NULL : k->text;
    }
    if (p->errors && p->errors[row]) {
        while (at < w->out.n - 1) w->row[at++] = NULL;
        w->row[at] = p->errors[row];
        return dt_output_put(&w->out, w->row);
    }
    if (p->errors) w->row[w->out.n - 1] = NULL;
    for (int o = 0; o < p->n_outputs; o++)
        (w->kind->content != DT_CONTENT_TABLE ? fill_arrays
         : is_list(w, p, o)                   ? fill_lists
                                              : fill_cells)(w, p, o, row, &at);
    return dt_output_put(&w->out, w->row);
}

static bool is_selective(const dt_row_writer_options *o) {
    return o->top > 0 || o->threshold > 0 || o->classes_above > 0;
}

static dt_status *no_classes(const dt_row_writer *w, const dt_predicted_rows *p) {
    if (w->options.threshold > 0)
        return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL,
                                  "output '%s' does not have two classes, which a threshold "
                                  "needs",
                                  p->names[0]),
                          "--top 1 gives the most likely class");
    if (w->options.classes_above > 0)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "output '%s' has no probabilities of classes to list",
                       p->names[0]);
    return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL,
                              "output '%s' is one number for each example: there are no classes to "
                              "choose the most likely from",
                              p->names[0]),
                      "leave out --top (in C: top 0)");
}

/* Refuses options that select classes if they select none in any output. */
static dt_status *check_selection(const dt_row_writer *w, const dt_predicted_rows *p) {
    bool any = !is_selective(&w->options);
    for (int o = 0; o < p->n_outputs; o++) any = any || dt_row_top(w, p, o) > 0;
    return any ? NULL : no_classes(w, p);
}

static void make_room(dt_row_writer *w, const dt_predicted_rows *p, int64_t columns) {
    int64_t most = 1;
    for (int o = 0; o < p->n_outputs; o++) {
        const int64_t scores = dt_row_scores(p, o), top = dt_row_top(w, p, o);
        most = scores > most ? scores : most;
        w->most_top = top > w->most_top ? top : w->most_top;
    }
    w->score = dt_alloc(dt_size_mul((size_t)most, sizeof *w->score));
    w->ranked = dt_alloc(((size_t)w->most_top + 1) * sizeof *w->ranked);
    w->row = dt_arena_array(w->arena, const void *, columns);
    w->cell = dt_arena_array(w->arena, dt_row_cell, columns);
    w->largest = dt_arena_array(w->arena, double, 2 * p->n_outputs * w->most_top);
    w->n_joined = 2 * p->n_outputs;
    w->joined = dt_arena_array(w->arena, dt_str, w->n_joined);
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p) {
    int64_t columns = 2 + p->n_kept;
    DT_TRY(check_selection(w, p));
    if ((p->n_kept > 0 || p->errors) && w->kind->content != DT_CONTENT_TABLE && !is_object(w))
        return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL, "%s cannot hold the %s of rows",
                                  w->kind->kind.name, p->errors ? "errors" : "columns"),
                          "write csv or jsonl");
    if (w->kind->content == DT_CONTENT_ARRAY && p->n_outputs != 1)
        return dt_fail(
            DT_E_ROW_FORMAT, NULL,
            "an NPY file holds one array, the model has %d outputs: write npz, csv or jsonl",
            p->n_outputs);
    for (int o = 0; o < p->n_outputs; o++) columns += columns_of(w, p, o);
    w->out.column = w->column = dt_arena_array(w->arena, dt_element_spec, columns);
    make_room(w, p, columns);
    w->out.of = p->of;
    if (p->files && w->kind->content == DT_CONTENT_TABLE)
        add(w, dt_scalar_type(DT_UINT8), "file", "")->text = true;
    for (int i = 0; i < p->n_kept; i++)
        add(w, dt_scalar_type(DT_UINT8), p->kept_names[i], "")->text = true;
    for (int o = 0; o < p->n_outputs; o++) {
        if (w->kind->content != DT_CONTENT_TABLE) add_arrays(w, p, o);
        else if (is_list(w, p, o)) add_lists(w, p->names[o]);
        else add_cells(w, p, o);
    }
    if (p->errors && w->kind->content == DT_CONTENT_TABLE)
        add(w, dt_scalar_type(DT_UINT8), "error", "")->text = true;
    return dt_output_begin(&w->out);
}

dt_status *dt_row_writer_put(const dt_predicted_rows *p, void *writer) {
    dt_row_writer *w = dt_live(writer);
    DT_TRY(dt_want(p, "dt_row_writer_put", "rows"));
    DT_TRY(dt_want(w, "dt_row_writer_put", "writer"));
    if (!w->kind) return dt_row_masks_put(w, p);
    if (!w->out.begun) DT_TRY(begin(w, p));
    for (int64_t i = 0; i < p->n_rows; i++) DT_TRY(put_row(w, p, i));
    return dt_output_flush(&w->out);
}

/* ---- the file ---- */

static dt_status *known(dt_status *s) { return dt_suggest(s, "known: csv, npy, npz, jsonl, png"); }

/* Whether rows become masks, PNG files in a folder: the format is "png" or, without a format, the
 * path ends in "/". */
static bool is_folder(const dt_row_writer_options *o) {
    const size_t n = strlen(o->path);
    return o->format ? strcmp(o->format, "png") == 0 : n > 0 && o->path[n - 1] == '/';
}

static dt_status *find_kind(const dt_row_writer_options *o, const dt_format **out) {
    static const dt_format *const kinds[] = {&dt_format_csv, &dt_format_npy, &dt_format_npz,
                                             &dt_format_jsonl};
    const char *suffix = strrchr(o->path, '.');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (o->format ? strcmp(kinds[i]->kind.name, o->format) == 0
                      : suffix && strcasecmp(kinds[i]->suffix[0], suffix) == 0) {
            *out = kinds[i];
            return NULL;
        }
    if (o->format)
        return known(dt_fail(DT_E_ROW_FORMAT, NULL, "unknown format of rows '%.80s'", o->format));
    return known(dt_fail(DT_E_ROW_FORMAT, NULL,
                         "cannot tell the format from the name '%.80s': end it in .csv, .npy, .npz "
                         "or .jsonl, in / for a folder of masks, or give a format",
                         o->path));
}

/* Refuses a path that exists and is not a regular file: when dtrain runs as root, even a device
 * would be replaced by a file. */
static dt_status *check_path(const char *path) {
    struct stat st;
    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL,
                       "%s: exists and is not a regular file; '-' is standard output", path);
    return NULL;
}

static bool is_probability(double x) { return x >= 0 && x < 1; }

static dt_status *check_options(const dt_row_writer_options *o, const dt_format *kind) {
    if (!kind && (o->top > 0 || o->classes_above > 0 || strcmp(o->path, "-") == 0))
        return dt_fail(DT_E_ROW_FORMAT, NULL,
                       "masks hold the likeliest class of each pixel, and go to a folder: leave "
                       "out top and classes_above, and give the folder");
    if (kind && kind->content == DT_CONTENT_ARCHIVE && strcmp(o->path, "-") == 0)
        return dt_fail(
            DT_E_ROW_FORMAT, NULL,
            "%s can only be written to a file; for standard output, use csv, jsonl or npy",
            kind->kind.name);
    if (o->top < 0 || o->top > MOST_TOP)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "top must be in [0, %d], got %lld", MOST_TOP,
                       (long long)o->top);
    if (!is_probability(o->threshold) || !is_probability(o->classes_above))
        return dt_fail(DT_E_ROW_FORMAT, NULL, "%s must be a probability between 0 and 1, got %g",
                       is_probability(o->threshold) ? "classes_above" : "threshold",
                       is_probability(o->threshold) ? o->classes_above : o->threshold);
    if ((o->top > 0) + (o->threshold > 0) + (o->classes_above > 0) > 1)
        return dt_fail(DT_E_ROW_FORMAT, NULL,
                       "top, threshold and classes_above each select classes: give one of them");
    if (kind && o->classes_above > 0 &&
        (kind->content == DT_CONTENT_ARRAY || kind->content == DT_CONTENT_ARCHIVE))
        return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL,
                                  "rows have different numbers of classes above %g, which %s "
                                  "cannot hold",
                                  o->classes_above, kind->kind.name),
                          "write csv or jsonl");
    return kind ? check_path(o->path) : dt_dir_make(o->path);
}

dt_status *dt_row_writer_open(dt_row_writer **out, const dt_row_writer_options *o) {
    const dt_format *kind = NULL;
    DT_REQUIRE({out, "place for the writer"}, {o, "options"});
    DT_TRY(dt_want(o->path, "dt_row_writer_open", "path"));
    if (!is_folder(o)) DT_TRY(find_kind(o, &kind));
    DT_TRY(check_options(o, kind));
    dt_row_writer *w = dt_alloc(sizeof *w);
    *w = (dt_row_writer){.refs = 1,
                         .kind = kind,
                         .options = *o,
                         .arena = dt_arena_create(),
                         .out = {.kind = kind, .delimiter = ',', .plain = true}};
    dt_status *s = NULL;
    w->options.path = dt_arena_strdup(w->arena, o->path);
    w->options.input = o->input ? dt_arena_strdup(w->arena, o->input) : NULL;
    if (kind && strcmp(o->path, "-") == 0) dt_output_stdout(&w->out);
    else if (kind) s = dt_output_open(&w->out, o->path);
    if (s) {
        dt_row_writer_unref(w);
        return s;
    }
    dt_row_writer_unref(*out);
    *out = w;
    return NULL;
}

dt_status *dt_row_writer_finish(dt_row_writer *w, int64_t *rows) {
    DT_LIVE(w);
    DT_TRY(dt_want(w, "dt_row_writer_finish", "writer"));
    if (rows) *rows = w->out.rows;
    if (!w->kind) return NULL;
    return dt_output_finish(&w->out);
}

void dt_row_writer_unref(dt_row_writer *w) {
    if (!DT_LAST(w)) return;
    dt_output_close(&w->out);
    for (int i = 0; i < w->n_joined; i++) dt_str_release(&w->joined[i]);
    dt_arena_destroy(w->arena);
    free(w->ranked);
    free(w->score);
    DT_RETIRE(w);
}
