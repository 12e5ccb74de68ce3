/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Injected faults: their grammar, NAME[:KEY=N,...][@step=N][*FACTOR] or NAME=SIZE, and what they do
 * to a run. A row says which parts a fault has, and gives an example for messages.
 */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "op/cells.h"
#include "strategy/cluster.h"
#include "train/faults.h"
#include "train/hook.h"

enum { MOST_KEYS = 3, TEXT_SHOWN = 80 };

typedef struct key {
    const char *name;
    size_t at; /* offset of the key's value, an int64_t, in dt_fault */
    bool required;
} key;

typedef struct fault_row {
    const char *name, *form;
    bool has_step, has_times, has_size, on_slice;
    key key[MOST_KEYS];
} fault_row;

static const fault_row rows[] = {
    [DT_FAULT_KILL] = {"kill", "kill:core=5@step=120", .has_step = true, .on_slice = true,
                       .key = {{"core", offsetof(dt_fault, core), true}}},
    [DT_FAULT_SLOW_LINK] = {"slow-link", "slow-link:x=1,y=2@step=50*4", .has_step = true,
                            .has_times = true, .on_slice = true,
                            .key = {{"x", offsetof(dt_fault, x), true},
                                    {"y", offsetof(dt_fault, y), true},
                                    {"z", offsetof(dt_fault, z), false}}},
    [DT_FAULT_NAN] = {"nan", "nan@step=7", .has_step = true},
    [DT_FAULT_FLIP] = {"flip", "flip:worker=1@step=7", .has_step = true,
                       .key = {{"worker", offsetof(dt_fault, worker), true}}},
    [DT_FAULT_HBM] = {"hbm", "hbm=8GiB", .has_size = true, .on_slice = true},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct reading {
    const char *text, *at;
    const fault_row *row;
    dt_fault *out;
} reading;

static dt_status *bad(const reading *r, const char *what) {
    dt_status *s = dt_fail(DT_E_INJECT, NULL, "--inject '%.*s': %s at '%.*s'", TEXT_SHOWN, r->text,
                           what, TEXT_SHOWN, r->at);
    return r->row ? dt_suggest(s, "write it as in %s", r->row->form) : s;
}

static bool takes(reading *r, const char *word) {
    size_t n = strlen(word);
    bool is = strncmp(r->at, word, n) == 0;
    r->at += is ? n : 0;
    return is;
}

static dt_status *read_name(reading *r) {
    size_t n = strcspn(r->at, ":@=*");
    for (int i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, r->at, n) == 0) {
            r->row = &rows[i];
            r->out->kind = (dt_fault_kind)i;
            r->at += n;
            return NULL;
        }
    return dt_suggest(dt_fail(DT_E_INJECT, NULL, "--inject '%.*s': unknown fault '%.*s'",
                              TEXT_SHOWN, r->text, n < TEXT_SHOWN ? (int)n : TEXT_SHOWN, r->at),
                      "there are kill, slow-link, nan, flip and hbm: 'dtrain help fit' shows them");
}

static dt_status *read_integer(reading *r, int64_t least, int64_t *out) {
    int64_t x = 0;
    const char *from = r->at;
    while (isdigit((unsigned char)*r->at) && r->at - from < 18) x = 10 * x + (*r->at++ - '0');
    if (r->at == from || isdigit((unsigned char)*r->at) || x < least) {
        r->at = from;
        return bad(r, least > 0 ? "expected a number from 1 on" : "expected a number");
    }
    *out = x;
    return NULL;
}

static const key *find_key(reading *r) {
    for (int k = 0; k < MOST_KEYS && r->row->key[k].name; k++) {
        size_t n = strlen(r->row->key[k].name);
        if (strncmp(r->at, r->row->key[k].name, n) == 0 && r->at[n] == '=') {
            r->at += n + 1;
            return &r->row->key[k];
        }
    }
    return NULL;
}

/* Reads the keys of a fault, such as :x=1,y=2. */
static dt_status *read_keys(reading *r) {
    bool seen[MOST_KEYS] = {false};
    if (!r->row->key[0].name) return NULL;
    if (!takes(r, ":")) return bad(r, "expected ':'");
    do {
        const char *from = r->at;
        const key *k = find_key(r);
        if (!k || seen[k - r->row->key]) {
            r->at = from;
            return bad(r, k ? "the same word twice" : "unknown word");
        }
        seen[k - r->row->key] = true;
        DT_TRY(read_integer(r, 0, (int64_t *)((char *)r->out + k->at)));
    } while (takes(r, ","));
    for (int k = 0; k < MOST_KEYS && r->row->key[k].name; k++)
        if (r->row->key[k].required && !seen[k]) return bad(r, "a word is missing");
    return NULL;
}

static dt_status *read_size(reading *r) {
    if (!dt_parse_bytes(r->at, &r->out->bytes))
        return bad(r, "expected a size in B, KiB, MiB, GiB or TiB");
    r->at += strlen(r->at);
    return NULL;
}

static dt_status *read_times(reading *r) {
    char *end;
    if (!takes(r, "*")) return bad(r, "expected '*'");
    r->out->times = isdigit((unsigned char)*r->at) ? strtod(r->at, &end) : 0;
    if (!(r->out->times >= 1 && r->out->times <= 1e6))
        return bad(r, "expected a factor from 1 to 1000000");
    r->at = end;
    return NULL;
}

static dt_status *read_fault(reading *r) {
    DT_TRY(read_name(r));
    DT_TRY(read_keys(r));
    if (r->row->has_size && !takes(r, "=")) return bad(r, "expected '='");
    if (r->row->has_size) return read_size(r);
    if (!takes(r, "@step=")) return bad(r, "expected '@step='");
    DT_TRY(read_integer(r, 1, &r->out->step));
    if (r->row->has_times) DT_TRY(read_times(r));
    return *r->at ? bad(r, "nothing more was expected") : NULL;
}

dt_status *dt_faults_read(dt_arena *arena, const char *const *text, int n, dt_faults *out) {
    dt_fault *v = dt_arena_array(arena, dt_fault, n + 1);
    dt_status *all = NULL;
    for (int i = 0; i < n; i++) {
        v[i] = (dt_fault){.text = text[i], .times = 1};
        dt_status_append(&all,
                         read_fault(&(reading){.text = text[i], .at = text[i], .out = &v[i]}));
    }
    *out = (dt_faults){n, v};
    return all;
}

/* ---- faults of a slice ---- */

static dt_status *check(const dt_fault *f, const dt_topology *slice) {
    int devices = slice ? slice->tasks * slice->devices : 0;
    const int64_t at[3] = {f->x, f->y, f->z};
    if (!rows[f->kind].on_slice) return NULL;
    if (!slice)
        return dt_suggest(
            dt_fail(DT_E_INJECT, NULL, "--inject '%s': the job does not run on a slice", f->text),
            "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}");
    if (f->kind == DT_FAULT_KILL && f->core >= devices)
        return dt_fail(DT_E_INJECT, NULL, "--inject '%s': %s has cores 0 to %d", f->text,
                       dt_topology_name(slice), devices - 1);
    for (int axis = 0; axis < 3; axis++)
        if (at[axis] >= slice->mesh[axis])
            return dt_fail(DT_E_INJECT, NULL, "--inject '%s': %c goes from 0 to %d on %s", f->text,
                           "xyz"[axis], slice -> mesh[axis] - 1, dt_topology_name(slice));
    return NULL;
}

dt_status *dt_faults_check(const dt_faults *f, const dt_topology *slice) {
    dt_status *all = NULL;
    for (int i = 0; i < f->n; i++) dt_status_append(&all, check(&f->v[i], slice));
    return all;
}

int64_t dt_faults_hbm(const dt_faults *f) {
    int64_t least = 0;
    for (int i = 0; i < f->n; i++)
        if (f->v[i].kind == DT_FAULT_HBM && (least == 0 || f->v[i].bytes < least))
            least = f->v[i].bytes;
    return least;
}

int dt_faults_slow_links(const dt_faults *f, int64_t step, dt_slow_links *slow) {
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        const dt_fault *v = &f->v[i];
        if (v->kind == DT_FAULT_SLOW_LINK && step >= v->step)
            slow[n++] = (dt_slow_links){.at = {(int)v->x, (int)v->y, (int)v->z}, .times = v->times};
    }
    return n;
}

/*
 * ---- in a run ----
 *
 * A fault is reported as an event, and then the run reacts as to a real one. A lost core ends the
 * run at once; the files on disk stay as they are. A NaN propagates until the loss or a checkpoint
 * shows it.
 */

static void report(const run *r, const dt_fault *f, int64_t step) {
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_FAULT, .step = step, .text = f->text});
}

void dt_faults_begin(const run *r) {
    for (int i = 0; i < r->q->faults.n; i++) {
        const dt_fault *f = &r->q->faults.v[i];
        dt_local_str text = {0};
        if (f->step > r->size.steps)
            dt_str_printf(&text, "--inject '%s' will not happen: the run ends with step %lld",
                          f->text, (long long)r->size.steps);
        else if (f->step && f->step <= r->at.step && f->kind != DT_FAULT_SLOW_LINK)
            dt_str_printf(&text, "--inject '%s' will not happen: step %lld was trained before",
                          f->text, (long long)f->step);
        if (text.size) dt_run_warn(r, dt_str_text(&text));
    }
}

static const int *find_core(const dt_topology *t, int64_t core) {
    for (int i = 0; i < t->tasks * t->devices; i++)
        if (dt_topology_id(t, t->coordinates[i]) == core) return t->coordinates[i];
    return t->coordinates[0];
}

static bool stands_at(const int *a, const int *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Writes what runs on a core: "replica 2, logical device 1", or that no replica uses the core. The
 * slice cannot run without the core in either case. */
static void print_work(const dt_assignment *a, const int *at, dt_str *out) {
    for (int i = 0; i < a->replicas * a->logical; i++)
        if (stands_at(dt_assignment_at(a, i / a->logical, i % a->logical), at)) {
            dt_str_printf(out, "replica %d, logical device %d", i / a->logical, i % a->logical);
            return;
        }
    dt_str_puts(out, "no replica is on it");
}

static dt_status *core_gone(const run *r, const dt_fault *f) {
    const dt_topology *t = r->strategy->resolver->topology;
    const int *at = find_core(t, f->core);
    dt_local_str work = {0};
    print_work(r->strategy->assignment, at, &work);
    dt_status *s =
        dt_fail(DT_E_CORE_GONE, NULL,
                "step %lld: core %lld of %s at (%d, %d, %d, %d) does not answer: %s, host %d",
                (long long)f->step, (long long)f->core, dt_topology_name(t), at[0], at[1], at[2],
                at[3], dt_str_text(&work), dt_topology_task(t, at));
    return r->out.checkpoint
               ? dt_note(s, "last checkpoint: %s; the same command resumes from it",
                         r->out.checkpoint)
               : dt_note(s, "no checkpoint was saved: the same command starts from the beginning");
}

/* Returns the variable that a fault damages: the last trainable one, or NULL without one. Usually
 * every example uses it, whereas a row of an embedding may be unused. */
static dt_variable *victim(const run *r) {
    return r->model->trainable.n ? r->model->trainable.v[r->model->trainable.n - 1] : NULL;
}

static dt_status *spoil(const run *r) {
    dt_variable *v = victim(r);
    if (!v) return NULL;
    DT_TRY(dt_variable_fetch(v));
    dt_cell_set_double(&(dt_view){.type = v->type, .data = dt_host_edit(v)}, 0, (double)NAN);
    return NULL;
}

/* Flips a bit of the first value of the damaged variable on one worker, as a cosmic ray may do: the
 * most significant bit of the fraction, so that rounding does not remove the difference and the
 * value stays finite. */
static dt_status *flip(const run *r, int64_t worker) {
    /* bits of the fraction, without the leading one that is not stored */
    static const int fraction[DT_BFLOAT16 + 1] = {
        [DT_FLOAT16] = 10, [DT_BFLOAT16] = 7, [DT_FLOAT32] = 23, [DT_FLOAT64] = 52};
    const dt_cluster *c = r->strategy->cluster;
    dt_variable *v = victim(r);
    if (!v || worker != (c ? c->rank : 0)) return NULL;
    DT_TRY(dt_variable_fetch(v));
    const int bit = fraction[v->type.dtype] - 1;
    ((unsigned char *)dt_host_edit(v))[bit / 8] ^= (unsigned char)(1 << bit % 8);
    return NULL;
}

dt_status *dt_faults_note(const run *r, dt_status *s) {
    for (int i = 0; s && i < r->q->faults.n; i++)
        if (r->q->faults.v[i].kind == DT_FAULT_NAN && r->q->faults.v[i].step <= r->at.step &&
            victim(r))
            s = dt_note(s, "injected: the first number of '%s' was NaN as step %lld began",
                        victim(r)->path, (long long)r->q->faults.v[i].step);
    return s;
}

/* Estimates the time of a step again when another fault slow-link takes effect. */
static dt_status *slow_down(run *r, int64_t step) {
    virtual_time *v = &r->virtual_time;
    dt_slow_links *slow = dt_arena_array(r->arena, dt_slow_links, r->q->faults.n + 1);
    int n = dt_faults_slow_links(&r->q->faults, step, slow);
    if (n == v->n_slow || dt_trainer_price(r->q->trainer, 0)->seconds == 0) return NULL;
    v->n_slow = n;
    return dt_trainer_slowed(r->q->trainer, slow, n, v->slow_s);
}

static dt_status *step_begin(run *r, dt_hook *h) {
    const int64_t step = r->at.step + 1;
    (void)h;
    for (int i = 0; i < r->q->faults.n; i++) {
        const dt_fault *f = &r->q->faults.v[i];
        if (f->step != step) continue;
        report(r, f, step);
        if (f->kind == DT_FAULT_NAN) DT_TRY(spoil(r));
        if (f->kind == DT_FAULT_FLIP) DT_TRY(flip(r, f->worker));
        if (f->kind == DT_FAULT_KILL) return core_gone(r, f);
    }
    return r->q->faults.n > 0 ? slow_down(r, step) : NULL;
}

const dt_hook_row dt_hook_faults = {.step_begin = step_begin};
