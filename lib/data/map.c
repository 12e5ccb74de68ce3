/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans of steps, and runs them. Each step knows its arguments, its output type, and how to
 * transform one example (map/step.h). */
#include "data/map.h"

#include <string.h>

#include "base/size.h"
#include "data/map/step.h"

extern const dt_map_step dt_map_cast;
#define LARGEST_EXAMPLE ((int64_t)1 << 32)

/* ---- plans, and running them ---- */

struct dt_map_plan {
    dt_type type;
    int64_t window; /* number of rows in an example; 0 if it is one row, not a window */
    int64_t lags;   /* number of rows that are put side by side after all steps; 0: one */
    int64_t times;  /* how many times the steps run for an example: once, or once for each row */
    /* in_bytes: the bytes that the steps read each time they run; widest: the most bytes that a
     * step writes each time, rounded up for alignment */
    int64_t in_bytes, widest;
    bool text;       /* the output is text */
    int64_t numbers; /* the limit of the output values, see dt_map_plan_numbers */
    dt_texts names;  /* the names of the classes, see dt_map_plan_names */
    int n, n_limits;
    dt_map_stage *stages;
    const dt_map_stage *pending;
    dt_map_limit *limits;
    /* the plan of the steps before the one that combines two examples; NULL if no step does */
    const dt_map_plan *before;
    /* the location of the step that combines examples; NULL if there is none */
    const dt_location *combines;
};

static const dt_map_chain *find_chain(const dt_map *m, const char *name) {
    static const dt_map_chain none;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->chains[i].name, name) == 0) return &m->chains[i];
    return &none;
}

static bool casts_to(const dt_named *named, dt_dtype dtype) {
    dt_map_stage s = {.step = dt_map_step_of(named), .args = named->args};
    return s.step == &dt_map_cast && !s.step->infer(&s, NULL) && s.out.dtype == dtype;
}

/* Whether step i is a cast to float32 that a later step makes needless, because it makes float32 of
 * any dtype. Without the cast there is one pass over the values instead of two, and large numbers
 * are not rounded before they are used. */
static bool is_redundant(const dt_map_chain *c, int i) {
    int next = i + 1;
    while (next < c->n &&
           (casts_to(&c->step[next], DT_FLOAT32) || casts_to(&c->step[next], DT_FLOAT64)))
        next++;
    return casts_to(&c->step[i], DT_FLOAT32) && next < c->n &&
           dt_map_step_of(&c->step[next])->reads_float32;
}

/* Returns the type of a window of rows; if window is 0, that of one row. */
static dt_type window_type(const dt_type *row, int64_t window) {
    dt_type t = window > 0 ? dt_map_batch_type(row) : *row;
    if (window > 0) t.dim[0] = window;
    return t;
}

dt_type dt_map_lagged_type(const dt_type *t, int64_t lags) {
    dt_type out = *t;
    if (lags == 0) return out;
    out.dim[0] /= lags;
    if (out.rank == 1) out.dim[out.rank++] = 1;
    out.dim[1] *= lags;
    return out;
}

static dt_status *check_input(const dt_map_stage *s, bool is_text) {
    const char *name = s->step->kind.name;
    const bool either = s->step->takes == DT_TAKES_TEXT_TOO || s->step->takes == DT_TAKES_EITHER;
    if (!either && is_text != (s->step->takes == DT_TAKES_TEXT))
        return dt_fail(DT_E_DATA_TYPE, s->at,
                       is_text ? "%s: %s needs numbers, got text"
                               : "%s: %s needs text, got numbers",
                       s->file, name);
    if (s->step->takes == DT_TAKES_INTEGERS && dt_dtype_is_float(s->in.dtype))
        return dt_fail(DT_E_DATA_TYPE, s->at, "%s: %s needs integers, got %s", s->file, name,
                       dt_dtype_name(s->in.dtype));
    if (s->step->takes == DT_TAKES_IMAGES && s->in.rank != 2 && s->in.rank != 3)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: %s needs images, (rows, columns) or (rows, columns, channels), but "
                       "examples have %d dimension%s",
                       s->file, name, s->in.rank, s->in.rank == 1 ? "" : "s");
    return NULL;
}

static dt_status *check_output(const dt_map_stage *s, int64_t window) {
    int64_t bytes = (int64_t)dt_dtype_size(s->out.dtype) * dt_max(window, 1);
    if (s->out.rank + 1 + (window > 0) > DT_MAX_RANK)
        return dt_fail(DT_E_DATA_SHAPE, s->at, "%s: %s makes examples of too many dimensions",
                       s->file, s->step->kind.name);
    for (int i = 0; i < s->out.rank; i++)
        if (!dt_mul_fits(bytes, s->out.dim[i], &bytes) || bytes > LARGEST_EXAMPLE)
            return dt_fail(DT_E_DATA_SHAPE, s->at, "%s: %s makes examples of more than %lld bytes",
                           s->file, s->step->kind.name, (long long)LARGEST_EXAMPLE);
    return NULL;
}

/* Adds a limit, because the next step needs inputs in [0, classes). Keeps a copy of the plan up to
 * that step. */
static void add_limit(dt_arena *arena, dt_map_plan *p, int64_t classes) {
    dt_map_plan *before = dt_arena_copy(arena, p, sizeof *p);
    before->type = window_type(&p->type, p->window);
    p->limits[p->n_limits++] = (dt_map_limit){.before = before, .classes = classes};
}

static int64_t wider(int64_t widest, const dt_type *t) {
    int64_t bytes = dt_type_bytes(t);
    return bytes <= widest         ? widest
           : bytes > INT64_MAX / 4 ? INT64_MAX / 4
                                   : (bytes + 63) & ~(int64_t)63;
}

static const char *purpose_of(dt_arena *arena, const dt_map_step *step, const char *element,
                              int i) {
    return dt_arena_printf(arena, "map/%s/%s/%d", step->kind.name, element, i);
}

static const dt_lesson *find_lesson(const dt_learned *learned, const char *step) {
    for (int i = 0; learned && i < learned->n; i++)
        if (strcmp(learned->lesson[i].step, step) == 0) return &learned->lesson[i];
    return NULL;
}

static dt_status *check_order(const dt_map_stage *s, const dt_map_plan *p) {
    if (s->step->combines && p->before)
        return dt_fail(DT_E_DATASET_KEYS, s->at,
                       "a mask takes cutmix from its image, so it cannot have %s, too",
                       s->step->kind.name);
    return NULL;
}

/* Adds step i of a list to the plan, with its type, limit, names and scratch. If the step has yet
 * to learn, sets p->pending and adds nothing. The list is that of the element, or that of the image
 * if the element is its mask. */
static dt_status *add_stage(dt_arena *arena, const dt_map_request *q, const dt_map_chain *c, int i,
                            dt_map_plan *p) {
    const dt_named *named = &c->step[i];
    dt_map_stage *s = &p->stages[p->n];
    *s = (dt_map_stage){.step = dt_map_step_of(named),
                        .args = named->args,
                        .at = &named->at,
                        .file = q->stored->file,
                        .directory = q->directory,
                        .in = p->type,
                        .is_text = p->text,
                        .is_mask = strcmp(c->name, q->stored->name) != 0,
                        .out = p->type,
                        .numbers = p->numbers,
                        .names = p->names};
    s->purpose = purpose_of(arena, s->step, c->name, i);
    s->values = dt_type_elements(&p->type);
    DT_TRY(check_order(s, p));
    DT_TRY(check_input(s, p->text));
    if (s->step->learning && s->step->learning->wants(s->args)) {
        s->learned = find_lesson(q->learned, s->purpose);
        p->pending = s->learned ? NULL : s;
        if (p->pending) return NULL;
    }
    DT_TRY(s->step->infer(s, arena));
    DT_TRY(check_output(s, p->window));
    if (s->step->classes) add_limit(arena, p, s->step->classes(s->args));
    if (s->step->combines) {
        p->before = dt_arena_copy(arena, p, sizeof *p);
        p->combines = s->at;
    }
    p->type = s->out;
    p->text = p->text && s->step->takes == DT_TAKES_TEXT_TOO;
    p->numbers = s->step->keeps_numbers ? s->numbers : 0;
    p->names = s->step->keeps_names ? s->names : (dt_texts){0};
    p->widest = wider(p->widest, &p->type);
    p->n++;
    return NULL;
}

/* Adds the image's steps that move pixels to the plan of its mask. */
static dt_status *follow(dt_arena *arena, const dt_map_request *q, dt_map_plan *p) {
    const dt_map_chain *image = find_chain(q->map, q->stored->follows);
    const char *mixes = NULL;
    for (int i = 0; i < image->n; i++) {
        const dt_map_step *step = dt_map_step_of(&image->step[i]);
        if (step->moves && mixes)
            return dt_fail(DT_E_DATASET_KEYS, &image->step[i].at,
                           "%s moves pixels, and '%s' is a mask of '%s': put it before %s",
                           step->kind.name, q->stored->name, image->name, mixes);
        if (step->moves) DT_TRY(add_stage(arena, q, image, i, p));
        else if (step->combines) mixes = step->kind.name;
    }
    return NULL;
}

/* If all steps take windows like rows, they run once for a whole window. */
static void merge_rows(dt_map_plan *p) {
    for (int i = 0; i < p->n; i++)
        if (!p->stages[i].step->takes_windows) return;
    for (int i = 0; i < p->n; i++) {
        dt_map_stage *s = &p->stages[i];
        s->in = window_type(&s->in, p->window);
        s->out = window_type(&s->out, p->window);
        s->values *= p->window;
    }
    for (int i = -1; i < p->n_limits; i++) {
        dt_map_plan *q = i < 0 ? p : (dt_map_plan *)p->limits[i].before;
        q->in_bytes *= p->window;
        q->widest *= p->window;
        q->times = 1;
    }
}

dt_status *dt_map_plan_make(dt_arena *arena, const dt_map_request *q, const dt_map_plan **out) {
    const dt_element_spec *x = q->stored;
    static const dt_map_chain none;
    const dt_map_chain *c = q->none ? &none : find_chain(q->map, x->name);
    const int followed = x->follows && !q->none ? find_chain(q->map, x->follows)->n : 0;
    dt_map_plan *p = dt_arena_new(arena, dt_map_plan);
    *p = (dt_map_plan){.type = dt_element_row(x),
                       .window = x->window,
                       .lags = x->lags,
                       .times = x->window > 0 ? x->window : 1,
                       .text = x->text,
                       .numbers = x->numbers,
                       .names = x->names};
    p->in_bytes = dt_type_bytes(&p->type);
    p->stages = dt_arena_array(arena, dt_map_stage, c->n + followed);
    p->limits = dt_arena_array(arena, dt_map_limit, c->n);
    if (followed) DT_TRY(follow(arena, q, p));
    for (int i = 0; i < c->n && !p->pending; i++)
        if (!is_redundant(c, i)) DT_TRY(add_stage(arena, q, c, i, p));
    if (p->text && !p->pending && !q->none)
        return dt_fail(
            DT_E_DATA_TYPE, &x->at,
            "%s: '%s' is text: 'map' must turn it into numbers, with text_vectorization, "
            "tokenizer or string_lookup",
            x->file, x->name);
    p->type = window_type(&p->type, p->window);
    p->type = dt_map_lagged_type(&p->type, p->lags);
    if (p->window > 0 && !p->pending) merge_rows(p);
    *out = p;
    return NULL;
}

const char *dt_map_plan_file(const dt_map_plan *p, int i) {
    for (const dt_map_stage *s = p->stages; s < p->stages + p->n; s++) {
        const char *path = s->step->file ? s->step->file(s->args) : NULL;
        if (path && i-- == 0) return path;
    }
    return NULL;
}

const dt_map_stage *dt_map_plan_pending(const dt_map_plan *p) { return p->pending; }

bool dt_map_plan_is_empty(const dt_map_plan *p) { return p->n == 0; }

bool dt_map_plan_is_plain(const dt_map_plan *p) {
    for (int i = 0; i < p->n; i++)
        if (p->stages[i].step != &dt_map_cast) return false;
    return true;
}

const dt_location *dt_map_plan_combines(const dt_map_plan *p) { return p->combines; }

const dt_type *dt_map_plan_type(const dt_map_plan *p) { return &p->type; }

int64_t dt_map_plan_numbers(const dt_map_plan *p) { return p->numbers; }

const dt_texts *dt_map_plan_names(const dt_map_plan *p) { return &p->names; }

int dt_map_plan_limits(const dt_map_plan *p, const dt_map_limit **limits) {
    *limits = p->limits;
    return p->n_limits;
}

/* Returns the bytes of two values between steps, or 0 if there is at most one step. Combining needs
 * three more values for the other example: two between its steps, and its final value. Each has
 * room for the largest value of the plan. */
int64_t dt_map_plan_scratch(const dt_map_plan *p) {
    return p->n > 1 ? (p->before ? 5 : 2) * p->widest : 0;
}

/* Runs all steps for one row. Values between steps are stored in the first two places of the
 * scratch in turn. */
static dt_status *run_steps(const dt_map_plan *p, const dt_map_at *at, const void *in, void *out,
                            void *scratch) {
    for (int i = 0; i < p->n; i++) {
        void *to = i == p->n - 1 ? out : (char *)scratch + (i % 2) * p->widest;
        const dt_map_stage *s = &p->stages[i];
        if (s->step->attempt) DT_TRY(s->step->attempt(s, in, to));
        else s->step->run(s, at, in, to);
        in = to;
    }
    return NULL;
}

/* Replaces at->other by its row k, after the steps that come before the combination. */
static dt_status *run_other(const dt_map_plan *p, int64_t k, dt_map_at *at, char *scratch) {
    const dt_map_at there = {.seed = at->seed,
                             .pass = at->other_pass,
                             .example = at->other_example,
                             .group = at->other_group,
                             .training = at->training};
    const void *in = (const char *)at->other + k * p->in_bytes;
    at->other = p->before->n > 0 ? scratch : in;
    return run_steps(p->before, &there, in, scratch, scratch + p->widest);
}

dt_status *dt_map_run(const dt_map_plan *p, const dt_map_at *at, const void *in, void *out,
                      void *scratch) {
    if (p->n == 0) memcpy(out, in, (size_t)(p->in_bytes * p->times));
    if (p->times == 1 && !at->other) return run_steps(p, at, in, out, scratch);
    const int64_t bytes = dt_type_bytes(&p->type) / p->times;
    for (int64_t k = 0; p->n > 0 && k < p->times; k++) {
        dt_map_at here = *at;
        if (here.other) DT_TRY(run_other(p, k, &here, (char *)scratch + 2 * p->widest));
        DT_TRY(run_steps(p, &here, (const char *)in + k * p->in_bytes, (char *)out + k * bytes,
                         scratch));
    }
    return NULL;
}

dt_random dt_map_draw(const dt_map_stage *s, const dt_map_at *at, const int64_t *seed) {
    dt_random r =
        seed ? dt_random_stream((uint64_t)*seed, s->step->kind.name, (uint64_t)at->example)
             : dt_random_stream(at->seed, s->step->combines ? s->step->kind.name : s->purpose,
                                (uint64_t)at->example);
    /* leaves 256 blocks of random numbers to each example and pass; a step uses few of them */
    r.counter[0] = (uint64_t)at->pass << 8;
    return r;
}

/* ---- in a graph ---- */

dt_type dt_map_batch_type(const dt_type *t) {
    dt_type batch = *t;
    memmove(batch.dim + 1, batch.dim, sizeof *batch.dim * (size_t)t->rank);
    batch.dim[0] = DT_BATCH;
    batch.rank++;
    return batch;
}

/* Adds the numbers to the graph as a variable that is never assigned. The trace owns the
 * variable. */
dt_value dt_map_numbers(const dt_map_stage *s, dt_value x, const char *name, const dt_type *type,
                        const void *v) {
    dt_arena *arena = dt_trace_arena(x.trace);
    dt_variable *numbers = NULL;
    dt_status *bad =
        dt_variable_alloc(&numbers, dt_arena_printf(arena, "%s/%s", s->purpose, name), type, false);
    if (bad) {
        dt_trace_fail(x.trace, bad);
        return x;
    }
    memcpy(dt_host_edit(numbers), v, (size_t)dt_type_bytes(type));
    dt_value y = dt_read(x.trace, numbers);
    dt_variable_unref(numbers);
    return y;
}

dt_value dt_map_undo(const dt_map *m, const dt_learned *learned, const char *element, dt_value x) {
    const dt_map_chain *c = find_chain(m, element);
    const char *before = dt_trace_path(x.trace, "original_units");
    for (int i = c->n - 1; i >= 0; i--) {
        const dt_named *named = &c->step[i];
        const dt_map_step *step = dt_map_step_of(named);
        const char *purpose = purpose_of(dt_trace_arena(x.trace), step, element, i);
        const dt_lesson *lesson = find_lesson(learned, purpose);
        const bool lacks = step->learning && step->learning->wants(named->args) && !lesson;
        const dt_value y =
            step->undo && !lacks ? step->undo(named->args, lesson, x) : (dt_value){0};
        if (!y.trace) break;
        x = y;
    }
    dt_trace_path(x.trace, before);
    return x;
}

/* ---- groups of windows, and plans in a graph ---- */

const dt_location *dt_map_by_group(const dt_map *m) {
    for (int i = 0; i < m->n; i++)
        if (m->chains[i].n > 0 && dt_map_treats_groups(&m->chains[i].step[0]))
            return &m->chains[i].step[0].at;
    return NULL;
}

bool dt_map_plan_knows(const dt_map_plan *p, uint64_t group) {
    for (int i = 0; i < p->n; i++)
        if (p->stages[i].step->by_group && p->stages[i].step->by_group(p->stages[i].args) &&
            !p->stages[i].step->knows(&p->stages[i], group))
            return false;
    return true;
}

void dt_map_undo_group(const dt_map *m, const dt_learned *learned, const char *element,
                       uint64_t group, float *x, int64_t n) {
    const dt_map_chain *c = find_chain(m, element);
    if (c->n == 0 || !dt_map_treats_groups(&c->step[0])) return;
    for (int i = 1; i < c->n; i++)
        if (!dt_map_step_of(&c->step[i])->undo)
            /* This element's conversion was not part of the graph, so there is nothing to
             * complete. */
            return;
    char purpose[256];
    const dt_map_step *step = dt_map_step_of(&c->step[0]);
    snprintf(purpose, sizeof purpose, "map/%s/%s/0", step->kind.name, element);
    const dt_lesson *lesson = find_lesson(learned, purpose);
    if (lesson) step->undo_group(lesson, group, x, n);
}

/* Returns the reason why a stage cannot be part of a graph, as the end of an error message ("": the
 * step has no form in a graph); NULL if it can. */
static const char *why_not(const dt_map_plan *p, const dt_map_stage *s) {
    if (!s->step->emit) return "";
    if (s->step->by_group && s->step->by_group(s->args)) return ": it needs the group of a window";
    if (s->is_text) return ": it reads texts";
    return p->window > 0 && !s->step->takes_windows ? " of windows" : NULL;
}

dt_status *dt_map_emit(const dt_map_plan *p, dt_value x, dt_value *out) {
    for (int i = 0; i < p->n; i++)
        if (why_not(p, &p->stages[i]))
            return dt_suggest(dt_fail(DT_E_NO_ONNX, p->stages[i].at,
                                      "map step '%s' cannot be part of a graph%s",
                                      p->stages[i].step->kind.name, why_not(p, &p->stages[i])),
                              "--without-map exports the model without 'map'");
    for (int i = 0; i < p->n; i++) {
        const dt_map_stage *s = &p->stages[i];
        const char *before = dt_trace_path(x.trace, s->purpose);
        x = s->step->emit(s, x);
        dt_trace_path(x.trace, before);
    }
    if (p->lags > 0) {
        const dt_type whole = dt_map_batch_type(&p->type);
        x = dt_reshape(x, whole.rank, whole.dim);
    }
    *out = x;
    return NULL;
}
