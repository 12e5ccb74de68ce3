/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If a job does not fit its slice, finds out whether it would fit with more logical devices per
 * replica, on a larger slice of the same chips, or on as many chips of another generation. The
 * job's batch size stays the same. Each candidate is the job with overrides, opened and planned
 * like any job.
 */
#include <string.h>

#include "job/plan.h"

enum { MOST_LOGICAL = 8, MOST_TIMES = 16, MOST_OTHERS = 2, WORDS = 5 };

typedef struct elsewhere {
    const dt_job_plan *p; /* the plan that does not fit */
    dt_would_fit *f;
    char **word; /* [words] overrides of the candidate that is tried at the moment */
    int *words;
} elsewhere;

static void add_line(const elsewhere *e, const char *text) {
    e->word[(*e->words)++] = dt_arena_strdup(e->f->arena, text);
}

static void say_block(const elsewhere *e, const int shape[4], int replicas) {
    const char *key = "strategy.device_assignment";
    dt_arena *a = e->f->arena;
    add_line(e, dt_arena_printf(a, "%s.computation_shape=[%d,%d,%d,%d]", key, shape[0], shape[1],
                                shape[2], shape[3]));
    add_line(e, dt_arena_printf(a, "%s.num_replicas=%d", key, replicas));
}

/* Opens and plans the job with the candidate's overrides. If it fits, adds them to the result and
 * returns true. */
static bool add_if_fits(const elsewhere *e) {
    dt_job *job = NULL;
    dt_job_plan *other = NULL;
    dt_status *bad = dt_search_open(e->p->o.source, e->word, *e->words, e->f->arena, &job);
    if (!bad) bad = dt_job_plan_create(&other, job, &(dt_plan_options){.budget = e->p->o.budget});
    const bool fits = !bad && dt_job_plan_fits(other);
    if (fits) {
        dt_str words = {0};
        for (int i = 0; i < *e->words; i++) dt_str_printf(&words, "%s%s", i ? " " : "", e->word[i]);
        e->f->words[e->f->n] = dt_arena_take(e->f->arena, &words);
        e->f->bytes[e->f->n++] = dt_job_plan_bytes(other);
    }
    dt_job_plan_destroy(other);
    dt_job_unref(job);
    dt_status_free(bad);
    return fits;
}

/* Whether the variables alone exceed the memory that devices may use (the budget, if that is less
 * than `usable`), even if they were divided among all devices. */
static bool is_hopeless(const dt_job_plan *p, int64_t usable, int devices) {
    const int64_t limit = p->o.budget > 0 && p->o.budget < usable ? p->o.budget : usable;
    return dt_job_plan_state_bytes(p) / devices > (double)limit;
}

/* Plans the job with `logical` logical devices per replica on a mesh, unless the mesh or the batch
 * cannot be divided that way. Returns whether it fits. */
static bool try_mesh(const elsewhere *e, const dt_topology *t, const char *slice, int logical) {
    const dt_job_plan *p = e->p;
    const int *mesh = t->mesh, devices = mesh[0] * mesh[1] * mesh[2] * mesh[3],
              replicas = devices / logical;
    const bool each = p->job->dataset.per_replica_batch_size > 0;
    int shape[4];
    *e->words = 0;
    if (devices % logical || !dt_search_block(mesh, logical, shape) ||
        (!each && p->step[0].rows % ((int64_t)replicas * dt_job_plan_slices(p))) ||
        is_hopeless(p, t->slice->chip->core_hbm_usable * dt_topology_device_cores(t), devices))
        return false;
    if (slice)
        add_line(e, dt_arena_printf(e->f->arena, "strategy.cluster_resolver.tpu=sim:%s", slice));
    if (p->job->strategy.assignment || logical > 1) say_block(e, shape, replicas);
    if (logical != p->logical) {
        add_line(e, dt_arena_printf(e->f->arena, "let.tensor=%d", logical));
        add_line(e, "partition.sequence_parallel=true");
    }
    return add_if_fits(e);
}

/* Tries more devices per replica, if the job has the word let.tensor, by which layers are
 * divided. */
static void try_logical(const elsewhere *e) {
    const dt_tree *let = dt_tree_get(e->p->job->tree, "let");
    bool fits = !dt_tree_get(let, "tensor");
    for (int n = 2 * e->p->logical; n <= MOST_LOGICAL && !fits; n *= 2)
        fits = try_mesh(e, dt_job_plan_topology(e->p), NULL, n);
}

static bool try_slice(const elsewhere *e, const dt_slice *slice) {
    dt_topology *t = dt_topology_of_slice(slice);
    const bool fits = try_mesh(e, t, slice->name, e->p->logical);
    dt_topology_unref(t);
    return fits;
}

/* Tries slices of a chip that have `least` to `most` chips, a power of two, each number in its
 * first shape of the list, until one fits. Returns whether one does. */
static bool try_chip(const elsewhere *e, const dt_chip *chip, int least, int most) {
    int n, last = 0;
    bool fits = false;
    DT_LOCAL dt_slice *all = dt_slices_of(chip, &n);
    for (int i = 0; i < n && !fits; i++) {
        const int chips = dt_slice_chips(&all[i]);
        const bool is_tried = chips != last && chips >= least && chips <= most &&
                              !(chips & (chips - 1)) && !dt_slice_exceeds_job(&all[i]);
        last = chips;
        fits = is_tried && try_slice(e, &all[i]);
    }
    return fits;
}

void dt_job_plan_elsewhere(const dt_job_plan *p, dt_would_fit *f) {
    int n, words = 0, others = 0;
    char *word[WORDS];
    const elsewhere e = {.p = p, .f = f, .words = &words, .word = word};
    const dt_slice *own = dt_job_plan_topology(p)->slice;
    if (!p->o.source || own->chip->is_host) return;
    const int chips = dt_slice_chips(own);
    const dt_chip *const *all = dt_chips(&n);
    try_logical(&e);
    try_chip(&e, own->chip, chips + 1, chips * MOST_TIMES);
    for (int i = 0; i < n && others < MOST_OTHERS; i++)
        others += all[i] != own->chip && all[i]->core_hbm_usable > own->chip->core_hbm_usable &&
                  try_chip(&e, all[i], chips, chips);
}
