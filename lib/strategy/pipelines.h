/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of pipelines as tensors. */
#ifndef DT_STRATEGY_PIPELINES_H
#define DT_STRATEGY_PIPELINES_H

#include "data/pipeline/pipe.h"
#include "strategy/values.h"

/* Each component one tensor, under its name. */
dt_status *dt_values_of_example(const dt_example_spec *spec, const dt_example *example,
                                dt_values **out) DT_MUST_USE;

/* ---- input options ---- */

/* The number of workers that share the input. */
int dt_input_workers(const dt_strategy *s, const dt_input_options *o);
dt_status *dt_check_input_options(const dt_input_options *o) DT_MUST_USE;
dt_status *dt_check_even_workers(const dt_strategy *s, int workers) DT_MUST_USE;

/* ---- a distributed pipeline ---- */

/* One description per worker, each feeding as many replicas. */
typedef struct dt_dist_pipes {
    dt_strategy *strategy; /* counted */
    int workers;
    int *replicas;   /* [workers]: replicas are counted worker by worker */
    dt_pipe **pipe;  /* [workers], counted */
    bool full_steps; /* all shapes known, or endless: a step that lacks a piece is the end */
    dt_str decision; /* what auto-sharding became, for people */
} dt_dist_pipes;

dt_status *dt_dist_pipes_create(dt_dist_pipes **out, dt_strategy *s, const dt_pipe *p,
                                const dt_input_options *options) DT_MUST_USE;
dt_status *dt_dist_pipes_call(dt_dist_pipes **out, dt_strategy *s, dt_dataset_fn fn, void *user,
                              const dt_input_options *options) DT_MUST_USE;
void dt_dist_pipes_destroy(dt_dist_pipes *d); /* takes NULL */

typedef struct dt_dist_cursors dt_dist_cursors;
dt_status *dt_dist_cursors_open(dt_dist_cursors **out, const dt_dist_pipes *d,
                                uint64_t epoch) DT_MUST_USE;
/* One step; *batch stays NULL at the end. */
dt_status *dt_dist_cursors_next(dt_dist_cursors *c, dt_values **batch) DT_MUST_USE;
/* The same, of which nothing is wanted. */
dt_status *dt_dist_cursors_skip(dt_dist_cursors *c, bool *ended) DT_MUST_USE;
void dt_dist_cursors_close(dt_dist_cursors *c); /* takes NULL */

#endif
