/* SPDX-License-Identifier: Apache-2.0 */
/* `ckpt inspect`: shows a checkpoint's state and statistics of its tensors. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/contents.h"
#include "op/cells.h"

enum { LONGEST_SHOWN = 4096 };

/* Statistics of a tensor's finite values. Their norm is the root of the sum of squares. Without
 * finite values, `least` is greater than `greatest` and `mean` is NaN. */
typedef struct figures {
    double least, greatest, mean, norm;
    int64_t not_finite;
} figures;

static figures measure(const dt_view *v) {
    int64_t n = dt_type_elements(&v->type), finite = 0;
    figures f = {.least = INFINITY, .greatest = -INFINITY};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = dt_cell_double(v, i);
        if (!isfinite(x)) {
            f.not_finite++;
            continue;
        }
        f.least = fmin(f.least, x);
        f.greatest = fmax(f.greatest, x);
        sum += x;
        squares += x * x;
        finite++;
    }
    f.mean = finite ? sum / (double)finite : NAN;
    f.norm = sqrt(squares);
    return f;
}

/* Writes a name from a file. A line break in it must not begin a new line of output. */
static void put_name(const char *name, dt_str *out) {
    dt_str_escaped(out, name, strlen(name), LONGEST_SHOWN);
}

static void print_state(const dt_saved *c, dt_str *out) {
    const dt_state_file *s = &c->state;
    dt_str_puts(out, "path     ");
    put_name(c->path, out);
    dt_str_putc(out, '\n');
    if (c->only_weights) return;
    dt_str_printf(out, "step     %" PRId64 ", %" PRId64 " epoch%s done%s\n", s->step, s->epoch,
                  s->epoch == 1 ? "" : "s", s->finished ? ", finished" : "");
    dt_str_puts(out, "weights  sha ");
    put_name(s->weights_sha256 ? s->weights_sha256 : "?", out);
    dt_str_puts(out, "\njob      sha ");
    put_name(s->job_sha256 ? s->job_sha256 : "?", out);
    dt_str_printf(out, ", seed %" PRIu64 "\nkernels  ", s->seed);
    put_name(s->kernels && *s->kernels ? s->kernels : "not known", out);
    dt_str_putc(out, '\n');
    if (!s->loop) return;
    dt_str_puts(out, "loop     ");
    put_name(s->loop, out);
    dt_str_putc(out, '\n');
}

static void print_tensor(const dt_stored_array *a, const figures *f, dt_str *out) {
    size_t from = out->size;
    put_name(a->name, out);
    dt_str_pad(out, from, 36);
    dt_str_printf(out, " %-8s ", a->dtype);
    dt_shape_print(&a->type, out);
    dt_str_pad(out, from, 64);
    if (f && f->least <= f->greatest)
        dt_str_printf(out, " %11.4g %11.4g %11.4g %11.4g", f->least, f->greatest, f->mean, f->norm);
    if (f && f->not_finite > 0) dt_str_printf(out, "  %" PRId64 " not finite", f->not_finite);
    dt_str_putc(out, '\n');
}

static void print_head(const char *title, dt_str *out) {
    size_t from = (dt_str_putc(out, '\n'), out->size);
    dt_str_puts(out, title);
    dt_str_pad(out, from, 64);
    dt_str_printf(out, " %11s %11s %11s %11s\n", "min", "max", "mean", "norm");
}

static void put_state(const dt_saved *c, dt_json *j) {
    const dt_state_file *s = &c->state;
    dt_json_string(j, "path", c->path);
    if (c->only_weights) return;
    dt_json_int(j, "step", s->step);
    dt_json_int(j, "epoch", s->epoch);
    dt_json_int(j, "epoch_step", s->epoch_step);
    dt_json_string(j, "weights_sha256", s->weights_sha256);
    dt_json_string(j, "job_sha256", s->job_sha256);
    dt_json_string(j, "kernels", s->kernels);
    dt_json_bool(j, "finished", s->finished);
    if (s->loop) dt_json_string(j, "loop", s->loop);
}

static void put_tensor(const dt_stored_array *a, const figures *f, dt_json *j) {
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "name", a->name);
    dt_json_string(j, "dtype", a->dtype);
    dt_json_ints(j, "shape", a->type.dim, a->type.rank);
    if (f) {
        dt_json_double(j, "min", f->least);
        dt_json_double(j, "max", f->greatest);
        dt_json_double(j, "mean", f->mean);
        dt_json_double(j, "norm", f->norm);
        dt_json_int(j, "not_finite", f->not_finite);
    }
    dt_json_close(j, '}');
}

typedef struct page {
    bool json;
    dt_json j;
    dt_str out;
} page;

static dt_status *add_tensor(page *p, const dt_stored_arrays *s, const dt_stored_array *a) {
    figures f = {0};
    void *data;
    DT_TRY(dt_contents_read(s, a, &data));
    if (data) f = measure(&(dt_view){a->type, data});
    if (p->json) put_tensor(a, data ? &f : NULL, &p->j);
    else print_tensor(a, data ? &f : NULL, &p->out);
    free(data);
    return NULL;
}

static dt_status *add_file(page *p, const char *title, const dt_stored_arrays *s) {
    if (p->json) dt_json_open(&p->j, title, '[');
    else print_head(title, &p->out);
    for (int i = 0; i < s->n; i++) DT_TRY(add_tensor(p, s, &s->array[i]));
    if (p->json) dt_json_close(&p->j, ']');
    return NULL;
}

static dt_status *add_contents(page *p, const dt_contents *c) {
    p->j.out = &p->out;
    if (p->json) {
        dt_json_open(&p->j, NULL, '{');
        put_state(&c->checkpoint, &p->j);
    } else {
        print_state(&c->checkpoint, &p->out);
    }
    for (int i = 0; i < c->n; i++) DT_TRY(add_file(p, c->file[i].title, &c->file[i].arrays));
    if (p->json) dt_json_close(&p->j, '}');
    dt_str_puts(&p->out, p->json ? "\n" : "");
    return NULL;
}

dt_status *dt_checkpoint_inspect(const char *path, bool json, char **text) {
    page p = {.json = json};
    dt_contents c = {0};
    dt_status *warnings = NULL;
    DT_REQUIRE({path, "path"}, {text, "place for the text"});
    dt_status *bad = dt_contents_open(&c, path, &warnings);
    /* Warnings about skipped checkpoints are dropped, because the path of the checkpoint that was
     * opened is shown. */
    dt_status_free(warnings);
    if (!bad) bad = add_contents(&p, &c);
    dt_contents_close(&c);
    if (bad) dt_str_release(&p.out);
    else *text = dt_str_take(&p.out);
    return bad;
}
