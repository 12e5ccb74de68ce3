/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about plans. */
#include <stdio.h>
#include <stdlib.h>

#include "job/partition.h"
#include "job/plan.h"

typedef struct rule {
    /* returns the fraction that the text is about: of memory, cores, time or products */
    double (*share)(const dt_job_plan *p);
    double from;
    const char *text; /* text of the warning; its "%" format takes that fraction in percent */
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

static double bubble(const dt_job_plan *p) {
    return p->plan[0]->parts.bubble / p->plan[0]->seconds;
}

static double launches(const dt_job_plan *p) {
    return p->plan[0]->parts.launch / p->plan[0]->seconds;
}

static double recomputed(const dt_job_plan *p) {
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
    {bubble, 0.2, "%.0f %% of the pipeline is bubble: more micro-batches would fill it"},
    {launches, 0.3,
     "%.0f %% of the step is kernel-launch overhead: the model is too small for this chip"},
    {recomputed, 0.3, "%.0f %% of the products are computed again to save memory"},
};

/* Returns the seconds of a step of the same job with another over_replicas; 0: the job cannot be
 * planned with it, or does not fit then. */
static double seconds_if(const dt_job_plan *p, dt_over_replicas over) {
    dt_job_plan *other = NULL;
    const dt_over_replicas now = p->job->how.over_replicas;
    p->job->how.over_replicas = over;
    dt_status *bad = dt_job_plan_create(&other, p->job, &(dt_plan_options){.budget = p->o.budget});
    p->job->how.over_replicas = now;
    const double seconds = !bad && dt_job_plan_fits(other) ? other->plan[0]->seconds : 0;
    dt_job_plan_destroy(other);
    dt_status_free(bad);
    return seconds;
}

/* Suggests another value of over_replicas if that saves more than a twentieth of the step's time;
 * otherwise larger batches or fewer devices per replica. */
static void put_better_split(const dt_job_plan *p, dt_str *text) {
    dt_over_replicas best = p->job->how.over_replicas;
    double least = 0.95 * p->plan[0]->seconds;
    for (int over = DT_OVER_NONE; over <= DT_OVER_WEIGHTS && p->replicas > 1; over++) {
        const double s = over == (int)best ? 0 : seconds_if(p, (dt_over_replicas)over);
        if (s <= 0 || s >= least) continue;
        least = s;
        best = (dt_over_replicas)over;
    }
    if (best == p->job->how.over_replicas) {
        dt_str_puts(text, p->logical > 1
                              ? "larger batches or fewer devices per replica would hide it"
                              : "larger batches would hide it");
        return;
    }
    dt_str_printf(text, "partition: {over_replicas: %s} fits and takes ",
                  dt_over_replicas_names[best]);
    dt_put_seconds(text, least);
}

static void warn_waiting(const dt_job_plan *p, void (*line)(void *user, const char *text),
                         void *user) {
    const double share = p->plan[0]->parts.links / p->plan[0]->seconds;
    dt_local_str text = {0};
    if (!(share >= 0.2)) return;
    dt_str_printf(&text, "%.0f %% of the step waits for links: ", share * 100);
    put_better_split(p, &text);
    line(user, dt_str_text(&text));
}

/* Returns the number of replicas, as near as possible to the plan's, that divides the elements of
 * t; 1: no other does. */
static int64_t dividing_replicas(const dt_job_plan *p, const dt_type *t) {
    const int *mesh = dt_job_plan_topology(p)->mesh;
    const int64_t elements = dt_type_elements(t),
                  most = (int64_t)mesh[0] * mesh[1] * mesh[2] * mesh[3] / p->logical;
    int64_t best = 1;
    for (int64_t n = 2; n <= most; n++)
        if (elements % n == 0 && llabs(n - p->replicas) <= llabs(best - p->replicas)) best = n;
    return best;
}

/* Warns if over_replicas divides variables among replicas, but the sizes of some cannot be divided
 * evenly, and a device therefore keeps 1 % more of all weights and slots, or more. */
static void warn_undivided(const dt_job_plan *p, void (*line)(void *user, const char *text),
                           void *user) {
    const dt_spmd *s = p->program[0];
    const dt_plan_bytes *b = &p->plan[0]->bytes;
    dt_local_str text = {0};
    if (s->undivided.state < 0 ||
        (double)s->undivided.bytes < 0.01 * (double)(b->weights + b->slots))
        return;
    dt_str_printf(&text,
                  "%d replicas do not divide the sizes of %d variables evenly, '%s' the largest: a "
                  "device keeps ",
                  p->replicas, s->undivided.n, s->whole->state[s->undivided.state].variable->path);
    dt_str_bytes(&text, (double)s->undivided.bytes);
    dt_str_puts(&text, " more than its share");
    const int64_t other = dividing_replicas(p, &s->whole->state[s->undivided.state].variable->type);
    if (other > 1 && other != p->replicas)
        dt_str_printf(&text, "; %lld replicas would divide it", (long long)other);
    line(user, dt_str_text(&text));
}

static void warn_slice(const dt_job_plan *p, void (*line)(void *user, const char *text),
                       void *user) {
    const dt_slice *s = dt_job_plan_topology(p)->slice;
    const dt_chip *chip = s->chip;
    char text[256];
    if (dt_slice_exceeds_job(s)) {
        snprintf(text, sizeof text,
                 "%s has %d chips; a job on one slice of %s has at most %d. Larger jobs run on "
                 "several slices: cluster_resolver.num_slices",
                 s->name, dt_slice_chips(s), chip->generation, chip->job_cubes * 64);
        line(user, text);
    }
    if (dt_slice_is_twisted_by_default(s)) {
        snprintf(text, sizeof text,
                 "Cloud TPU twists this shape by default: plan it as sim:%s:%dx%dx%d_twisted, or "
                 "ask Cloud TPU for %dx%dx%d_untwisted",
                 chip->generation, s->chips[0], s->chips[1], s->chips[2], s->chips[0], s->chips[1],
                 s->chips[2]);
        line(user, text);
    }
}

static void warn_without_rate(const dt_job_plan *p, void (*line)(void *user, const char *text),
                              void *user) {
    const dt_chip *chip = dt_job_plan_topology(p)->slice->chip;
    const dt_quantization q = p->job->compile.quantization;
    const double rate = q == DT_QUANTIZE_INT8 ? chip->kernel.int8_rate : chip->kernel.fp8_rate;
    char text[256];
    if (q != DT_QUANTIZE_NONE && rate <= 0) {
        snprintf(text, sizeof text,
                 "no rate of %s products is known for %s: they take as long as in bfloat16",
                 dt_quantizations[q], chip->generation);
        line(user, text);
    }
    if (p->plan[0]->offloaded > 0 && chip->pcie_Bps <= 0) {
        snprintf(text, sizeof text,
                 "the rate of the host's bus of %s is not known: copies to and from the host take "
                 "no time in this plan",
                 chip->generation);
        line(user, text);
    }
}

static void warn_without_effect(const dt_job_plan *p, void (*line)(void *user, const char *text),
                                void *user) {
    const dt_rematerialize *r = &p->job->model.rematerialize;
    const dt_texts idle = dt_job_idle_keys(p->job, p->job->arena);
    for (int i = 0; i < idle.n; i++) line(user, idle.v[i]);
    if (p->job->model.scores_below == INT64_MAX && ((r->save | r->offload) & DT_REMAT_CONTEXT))
        line(user,
             "rematerialize does not keep context with flash_attention: false, which computes "
             "attention as products");
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
    warn_waiting(p, line, user);
    warn_undivided(p, line, user);
    warn_slice(p, line, user);
    warn_without_rate(p, line, user);
    warn_without_effect(p, line, user);
}
