/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the form, the file and its name, and what the forms share. See rows.h. */
#include "format/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op/cells.h"

#define DT_ROW_KIND(name) extern const dt_row_kind dt_row_##name;
#include "format/rows/kinds.h"
#undef DT_ROW_KIND

static const dt_row_kind *const kinds[] = {
#define DT_ROW_KIND(name) &dt_row_##name,
#include "format/rows/kinds.h"
#undef DT_ROW_KIND
};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST_TOP = 1 << 20 };

/* ---- values ---- */

int64_t dt_row_values(const dt_predicted_rows *p, int o)
{
    dt_type row = p->values[o]->type;
    row.dim[0] = 1;
    return dt_type_elements(&row);
}

static const dt_output_meaning *meaning_of(const dt_predicted_rows *p, int o)
{
    static const dt_output_meaning numbers;
    return p->meaning ? &p->meaning[o] : &numbers;
}

/* One label is there or not: two classes. */
static bool is_lone(const dt_predicted_rows *p, int o)
{
    return meaning_of(p, o)->kind == DT_OUTPUT_LABELS && dt_row_values(p, o) == 1;
}

int64_t dt_row_scores(const dt_predicted_rows *p, int o)
{
    return is_lone(p, o) ? 2 : dt_row_values(p, o);
}

int64_t dt_row_top(const dt_row_writer *w, const dt_predicted_rows *p, int o)
{
    const int64_t scores = dt_row_scores(p, o);
    return scores == 1 ? 0 : w->options.top < scores ? w->options.top : scores;
}

const char *dt_row_class(const dt_predicted_rows *p, int o, int64_t i)
{
    const dt_output_meaning *m = meaning_of(p, o);
    const bool flat = p->values[o]->type.rank <= 2; /* else a class has a value at each step or pixel */
    return flat && i < m->n_names ? m->names[i] : NULL;
}

/* Each exp is of a number <= 0. */
static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static void softmax(double *x, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    for (int64_t i = 0; i < n; i++)
        x[i] = exp(x[i] - most) / sum;
}

void dt_row_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row)
{
    const dt_output_meaning *m = meaning_of(p, o);
    const dt_tensor *t = p->values[o];
    const dt_view view = {.type = t->type, .data = t->data};
    const int64_t n = dt_row_values(p, o), last = t->type.dim[t->type.rank - 1];
    double *x = w->score;
    for (int64_t i = 0; i < n; i++)
        x[i] = dt_cell_double(&view, row * n + i);
    if (is_lone(p, o)) {
        const double value = x[0];
        x[0] = m->logits ? sigmoid(-value) : 1 - value;
        x[1] = m->logits ? sigmoid(value) : value;
        return;
    }
    if (m->logits && m->kind == DT_OUTPUT_CLASSES)
        for (int64_t i = 0; i < n; i += last)
            softmax(x + i, last);
    if (m->logits && m->kind == DT_OUTPUT_LABELS)
        for (int64_t i = 0; i < n; i++)
            x[i] = sigmoid(x[i]);
}

void dt_row_print(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i, const char *none)
{
    const double x = w->score[i];
    if (!isfinite(x))
        dt_str_puts(&w->text, none);
    else if (p->values[o]->type.dtype == DT_FLOAT32)
        dt_str_float(&w->text, (float)x);
    else
        dt_str_double(&w->text, x);
}

/* Insertion into a short list: an output has few classes that matter. */
int dt_row_rank(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row)
{
    const int64_t scores = dt_row_scores(p, o);
    int n = 0;
    dt_row_score(w, p, o, row);
    for (int64_t i = 0; i < scores; i++) {
        dt_ranked x = {i, w->score[i]};
        int at = n;
        while (at > 0 && (w->ranked[at - 1].value < x.value || (isnan(w->ranked[at - 1].value) && !isnan(x.value))))
            at--;
        if (at == w->options.top)
            continue;
        n += n < w->options.top;
        memmove(&w->ranked[at + 1], &w->ranked[at], (size_t)(n - at - 1) * sizeof x);
        w->ranked[at] = x;
    }
    return n;
}

/* ---- opening ---- */

static dt_status *known(dt_status *s)
{
    return dt_suggest(s, "known: csv, npy, npz, jsonl");
}

static dt_status *find_kind(const dt_row_writer_options *o, const dt_row_kind **out)
{
    const char *suffix = strrchr(o->path, '.');
    for (int i = 0; i < KINDS; i++)
        if (o->format ? strcmp(kinds[i]->name, o->format) == 0 : suffix && strcmp(kinds[i]->suffix, suffix) == 0) {
            *out = kinds[i];
            return NULL;
        }
    if (o->format)
        return known(dt_fail(DT_E_ROW_FORMAT, NULL, "unknown format of rows '%.80s'", o->format));
    return known(dt_fail(DT_E_ROW_FORMAT, NULL, "'%.80s' does not say in which format to write: it ends in no .csv, .npy, .npz or .jsonl, and no "
                         "format is given", o->path));
}

/* Output to what is no file would replace a device by one, as root. */
static dt_status *check_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file; '-' is standard output", path);
    return NULL;
}

static dt_status *open_file(dt_row_writer *w, const char *path)
{
    dt_str temporary = {0};
    DT_TRY(check_path(path));
    DT_TRY(dt_file_target(path, &w->path));
    dt_str_printf(&temporary, "%s.tmp", w->path);
    w->temporary = dt_str_take(&temporary);
    return dt_writer_open(&w->file, w->temporary);
}

static dt_status *open_output(dt_row_writer *w)
{
    if (strcmp(w->options.path, "-") != 0)
        return open_file(w, w->options.path);
    w->file = (dt_writer){.fd = STDOUT_FILENO, .path = dt_strdup("standard output"), .keep = true};
    return NULL;
}

dt_status *dt_row_writer_open(dt_row_writer **out, const dt_row_writer_options *o)
{
    const dt_row_kind *kind = NULL;
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_row_writer_open", "place for the writer"));
    DT_TRY(dt_want(o, "dt_row_writer_open", "options"));
    DT_TRY(dt_want(o->path, "dt_row_writer_open", "path"));
    DT_TRY(find_kind(o, &kind));
    if (kind->only_files && strcmp(o->path, "-") == 0)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "%s can only be written to a file; for standard output, use csv, jsonl or npy", kind->name);
    if (o->top < 0 || o->top > MOST_TOP)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "top must be in [0, %d], got %lld", MOST_TOP, (long long)o->top);
    dt_row_writer *w = dt_alloc(sizeof *w);
    *w = (dt_row_writer){.refs = 1, .kind = kind, .options = *o};
    w->ranked = dt_alloc(((size_t)o->top + 1) * sizeof *w->ranked);
    dt_status *s = open_output(w);
    if (s) {
        dt_row_writer_unref(w);
        return s;
    }
    dt_row_writer_unref(*out);
    *out = w;
    return NULL;
}

/* ---- writing ---- */

static dt_status *flush(dt_row_writer *w)
{
    if (w->kind->flush)
        return w->kind->flush(w);
    dt_status *s = dt_writer_put(&w->file, dt_str_text(&w->text), w->text.size);
    dt_str_clear(&w->text);
    return s;
}

/* What was asked for are classes: some output must have them. */
static dt_status *check_top(const dt_row_writer *w, const dt_predicted_rows *p)
{
    bool any = w->options.top == 0;
    for (int o = 0; o < p->n_outputs; o++)
        any = any || dt_row_top(w, p, o) > 0;
    if (any)
        return NULL;
    return dt_suggest(dt_fail(DT_E_ROW_FORMAT, NULL, "output '%s' is one number for each example: there are no classes to choose the most likely from",
                              p->names[0]), "leave out --top (in C: top 0)");
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    int64_t most = 1;
    DT_TRY(check_top(w, p));
    for (int o = 0; o < p->n_outputs; o++)
        most = dt_row_scores(p, o) > most ? dt_row_scores(p, o) : most;
    w->score = dt_alloc(dt_size_mul((size_t)most, sizeof *w->score));
    w->begun = true;
    return w->kind->begin(w, p);
}

dt_status *dt_row_writer_put(const dt_predicted_rows *p, void *writer)
{
    dt_row_writer *w = dt_live(writer);
    DT_TRY(dt_want(p, "dt_row_writer_put", "rows"));
    DT_TRY(dt_want(w, "dt_row_writer_put", "writer"));
    if (!w->begun)
        DT_TRY(begin(w, p));
    for (int64_t i = 0; i < p->n_rows; i++) {
        w->kind->row(w, p, i);
        if (w->text.size > 1 << 20)
            DT_TRY(flush(w));
    }
    w->rows += p->n_rows;
    return flush(w);
}

static dt_status *commit(dt_row_writer *w)
{
    DT_TRY(dt_writer_sync(&w->file));
    DT_TRY(dt_writer_close(&w->file));
    DT_TRY(dt_file_adopt(w->temporary, w->path));
    free(w->temporary);
    w->temporary = NULL;
    return NULL;
}

dt_status *dt_row_writer_finish(dt_row_writer *w, int64_t *rows)
{
    DT_LIVE(w);
    DT_TRY(dt_want(w, "dt_row_writer_finish", "writer"));
    if (w->kind->finish)
        DT_TRY(w->kind->finish(w));
    if (rows)
        *rows = w->rows;
    return w->temporary ? commit(w) : NULL;
}

void dt_row_writer_unref(dt_row_writer *w)
{
    if (!DT_LAST(w))
        return;
    if (!w->path)
        free(w->file.path); /* standard output stays open */
    else if (w->temporary)
        dt_writer_abandon(&w->file);
    if (w->state)
        w->kind->release(w);
    dt_str_release(&w->text);
    free(w->ranked);
    free(w->score);
    free(w->temporary);
    free(w->path);
    DT_RETIRE(w);
}
