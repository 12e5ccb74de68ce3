/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan should not be read without: one rule, one row. */
#include <stdio.h>

#include "job/plan.h"

typedef struct rule {
    /* The share of something that is lost, and what to say of it. */
    double (*share)(const dt_job_plan *p);
    double from;
    const char *text; /* with the share in percent */
} rule;

static double padding(const dt_job_plan *p) {
    return (double)p->plan[0]->bytes.padding / (double)(p->plan[0]->bytes.total + 1);
}

static double idle_cores(const dt_job_plan *p) {
    const dt_topology *t = dt_job_plan_topology(p);
    return 1 - (double)p->replicas * p->logical / dt_topology_cores(t);
}

static double infeed(const dt_job_plan *p) {
    double s = p->plan[0]->infeed_s;
    return s > p->plan[0]->seconds ? 1 - p->plan[0]->seconds / s : 0;
}

static double waiting(const dt_job_plan *p) {
    return p->plan[0]->parts.links / p->plan[0]->seconds;
}

static double bubble(const dt_job_plan *p) {
    return p->plan[0]->parts.bubble / p->plan[0]->seconds;
}

static double launches(const dt_job_plan *p) {
    return p->plan[0]->parts.launch / p->plan[0]->seconds;
}

static double again(const dt_job_plan *p) {
    return 1 - p->plan[0]->model_flops / (p->plan[0]->flops + 1);
}

static const rule rules[] = {
    {padding, 0.2,
     "%.0f %% of a device's memory is padding: arrays' last two sizes are rounded up to 8 and 128"},
    {idle_cores, 0.01,
     "%.0f %% of the slice's cores have no work: replicas x logical devices are fewer"},
    {infeed, 0.01,
     "idle %.0f %% of the time waiting for data: a batch takes longer from the host than a step "
     "takes"},
    {waiting, 0.2,
     "%.0f %% of the step waits for links: larger batches or fewer devices per replica would hide "
     "it"},
    {bubble, 0.2, "%.0f %% of the pipeline is bubble: more micro-batches would fill it"},
    {launches, 0.3,
     "%.0f %% of the step is kernel-launch overhead: the model is too small for this chip"},
    {again, 0.3, "%.0f %% of the products are computed again to save memory"},
};

/* Where over_replicas is to divide what replicas do not divide, and it counts. */
static void warn_undivided(const dt_job_plan *p, void (*line)(void *user, const char *text),
                           void *user) {
    const dt_spmd_undivided *u = &p->program[0]->undivided;
    const dt_plan_bytes *b = &p->plan[0]->bytes;
    dt_str text = {0};
    if (u->state < 0 || (double)u->bytes < 0.01 * (double)(b->weights + b->slots)) return;
    dt_str_printf(&text,
                  "%d replicas do not divide the sizes of %d variables evenly, '%s' the largest: a "
                  "device keeps ",
                  p->replicas, u->n, p->program[0]->whole->state[u->state].variable->path);
    dt_str_bytes(&text, (double)u->bytes);
    dt_str_puts(&text, " more than its share");
    line(user, dt_str_text(&text));
    dt_str_release(&text);
}

void dt_job_plan_warn(const dt_job_plan *p, void (*line)(void *user, const char *text),
                      void *user) {
    char text[256];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        double share = rules[i].share(p);
        if (share < rules[i].from) continue;
        snprintf(text, sizeof text, rules[i].text, share * 100);
        line(user, text);
    }
    warn_undivided(p, line, user);
}
