/*
 * A plan for people: rows down, plans across.
 *
 *     per logical device       as it is      if batch is 256
 *       weights  fp32          20.8 MiB      20.8 MiB
 */
#include "job/plan.h"

#include <string.h>

enum { LABEL = 26, COLUMN = 18 };

typedef struct table {
    const dt_job_plan *const *p;
    int n;
    dt_str *out;
} table;

static const dt_plan *train_of(const dt_job_plan *p)
{
    return p->plan[0];
}

/* ---- cells ---- */

static void put_weights(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.weights); }
static void put_gradients(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.gradients); }
static void put_slots(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.slots); }
static void put_activations(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.activations); }
static void put_padding(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.padding); }
static void put_total(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, (double)train_of(p)->bytes.total); }
static void put_peak(const dt_job_plan *p, dt_str *s) { dt_str_puts(s, train_of(p)->bytes.peak ? train_of(p)->bytes.peak : "-"); }

static void put_fits(const dt_job_plan *p, dt_str *s)
{
    dt_str_puts(s, dt_job_plan_fits(p) ? "yes, of " : "NO, of ");
    dt_str_bytes(s, (double)train_of(p)->bytes.usable);
}

static void put_seconds(dt_str *s, double seconds)
{
    if (seconds >= 1)
        dt_str_printf(s, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        dt_str_printf(s, "%.3g ms", seconds * 1e3);
    else
        dt_str_printf(s, "%.3g us", seconds * 1e6);
}

static void put_step(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->seconds); }
static void put_matrix(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->parts.matrix); }
static void put_memory(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->parts.memory); }
static void put_vector(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->parts.vector); }
static void put_launch(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->parts.launch); }
static void put_links(const dt_job_plan *p, dt_str *s) { put_seconds(s, train_of(p)->parts.links); }
static void put_received(const dt_job_plan *p, dt_str *s) { dt_str_bytes(s, train_of(p)->received); }
static void put_mfu(const dt_job_plan *p, dt_str *s) { dt_str_printf(s, "%.1f %%", dt_plan_mfu(train_of(p)) * 100); }

typedef struct row {
    const char *label;
    void (*put)(const dt_job_plan *p, dt_str *s);
} row;

static const row rows[] = {
    { "  weights", put_weights }, { "  gradients", put_gradients }, { "  optimizer slots", put_slots }, { "  activations at peak", put_activations },
    { "    at", put_peak }, { "  padding of tiles", put_padding }, { "  in all", put_total }, { "  fits", put_fits },
    { "step time (virtual)", put_step }, { "  matrix units", put_matrix }, { "  memory", put_memory }, { "  vector units", put_vector },
    { "  launches", put_launch }, { "  waiting for links", put_links }, { "received over links", put_received }, { "model FLOPs used (MFU)", put_mfu },
};

static void print_row(const table *t, const row *r)
{
    size_t from = t->out->size;
    dt_str_puts(t->out, r->label);
    for (int i = 0; i < t->n; i++) {
        dt_str_pad(t->out, from, LABEL + i * COLUMN);
        r->put(t->p[i], t->out);
    }
    dt_str_putc(t->out, '\n');
}

static void print_head(const table *t, const char *const *label)
{
    const dt_job_plan *p = t->p[0];
    dt_str_printf(t->out, "%s on sim:%s   %d replica%s x %d logical device%s   ", p->job->name, dt_topology_name(p->job->strategy.resolver->topology),
                  p->replicas, p->replicas == 1 ? "" : "s", p->logical, p->logical == 1 ? "" : "s");
    dt_str_grouped(t->out, (int64_t)p->parameters);
    dt_str_puts(t->out, " parameters\n\n");
    size_t from = t->out->size;
    dt_str_puts(t->out, "per logical device");
    for (int i = 0; i < t->n; i++) {
        dt_str_pad(t->out, from, LABEL + i * COLUMN);
        dt_str_puts(t->out, label[i]);
    }
    dt_str_putc(t->out, '\n');
}

static void print_programs(const table *t)
{
    const dt_job_plan *p = t->p[0];
    dt_str_puts(t->out, "programs");
    dt_str_pad(t->out, t->out->size - strlen("programs"), LABEL);
    for (int i = 0; i < p->n; i++) {
        dt_str_printf(t->out, "%s%s %lld: ", i ? ", " : "", p->step[i].name, (long long)p->step[i].rows);
        put_seconds(t->out, p->plan[i]->seconds);
    }
    dt_str_putc(t->out, '\n');
}

void dt_job_plans_print(const dt_job_plan *const *p, const char *const *label, int n, dt_str *out)
{
    const table t = { p, n, out };
    print_head(&t, label);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_row(&t, &rows[i]);
    print_programs(&t);
}
