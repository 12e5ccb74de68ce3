/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans as tables for people: one row for each figure, one column for each plan.
 *
 *     [1] dataset.global_batch_size=256
 *     per logical device       as it is      [1]
 *       weights                20.8 MiB      20.8 MiB
 *
 * What comes below the table is mostly about the first plan.
 */
#include <string.h>

#include "job/plan.h"

enum { LABEL = 26, COLUMN = 18, FEW_LAYERS = 8 };

/* Appends blanks up to the column, or two blanks if the text before it is too long. */
static void go_to(dt_str *out, size_t from, int column) {
    dt_str_puts(out, "  ");
    dt_str_pad(out, from, column);
}

static const dt_plan *train_of(const dt_job_plan *p) { return p->plan[0]; }

/* ---- cells ---- */

static void put_host(const dt_job_plan *p, dt_str *s) {
    if (p->host_bytes > 0) dt_str_bytes(s, (double)p->host_bytes);
    else dt_str_puts(s, "-");
}

static void put_offloaded(const dt_job_plan *p, dt_str *s) {
    dt_str_bytes(s, train_of(p)->offloaded);
}
static void put_received(const dt_job_plan *p, dt_str *s) {
    dt_str_bytes(s, train_of(p)->received);
}
static void put_mfu(const dt_job_plan *p, dt_str *s) {
    dt_str_printf(s, "%.1f %%", dt_plan_mfu(train_of(p)) * 100);
}
static void put_dollars(const dt_job_plan *p, dt_str *s) {
    const double dollars = dt_job_plan_dollars(p);
    if (dt_job_plan_price(p).usd_hour == 0) {
        dt_str_puts(s, "no price known");
        return;
    }
    dt_str_puts(s, dollars < 0.005 ? "< $ 0.01" : "");
    if (dollars >= 0.005) dt_str_printf(s, "$ %.2f", dollars);
}

/* Prints the layer that has the largest memory at the peak, without the value in it, which only
 * --json names. */
static void put_peak(const dt_job_plan *p, dt_str *s) {
    const char *peak = train_of(p)->bytes.peak ? train_of(p)->bytes.peak : "-";
    dt_str_add(s, peak, strcspn(peak, "/"));
}

static void put_rate(const dt_job_plan *p, dt_str *s) {
    dt_str_grouped(s, (int64_t)dt_job_plan_examples_per_s(p));
}

static void put_fits(const dt_job_plan *p, dt_str *s) {
    int64_t usable = train_of(p)->bytes.usable;
    dt_str_puts(s, dt_job_plan_fits(p) ? "yes, of " : "NO, of ");
    dt_str_bytes(s, (double)(p->o.budget > 0 && p->o.budget < usable ? p->o.budget : usable));
}

static double has_host(const dt_job_plan *p) { return (double)p->host_bytes; }
static double has_dcn(const dt_job_plan *p) { return train_of(p)->parts.dcn; }
static double has_offloaded(const dt_job_plan *p) { return train_of(p)->offloaded; }
static double has_bubble(const dt_job_plan *p) { return train_of(p)->parts.bubble; }

typedef struct row {
    const char *label;
    void (*put)(const dt_job_plan *p, dt_str *s);
    /* used if `put` is NULL: offset in dt_plan of the member that is printed, in bytes or in
     * seconds; the other one is 0 */
    size_t bytes, seconds;
    /* the row is left out if this returns 0 for all plans; NULL: the row is always printed */
    double (*shown)(const dt_job_plan *p);
    bool exact;
} row;

#define BYTES(member) .bytes = offsetof(dt_plan, bytes.member)
#define SECONDS(member) .seconds = offsetof(dt_plan, member)
static const row rows[] = {
    {"  weights", BYTES(weights), .exact = true},
    {"  gradients", BYTES(gradients), .exact = true},
    {"  optimizer slots", BYTES(slots), .exact = true},
    {"  activations at peak", BYTES(activations)},
    {"    in", .put = put_peak},
    {"  padding of tiles", BYTES(padding)},
    {"  total", BYTES(total)},
    {"kept in the host's memory", .put = put_offloaded, .shown = has_offloaded, .exact = true},
    {"  fits", .put = put_fits},
    {"host arena, this machine", .put = put_host, .shown = has_host, .exact = true},
    {"step time (virtual)", SECONDS(seconds)},
    {"  matrix units", SECONDS(parts.matrix)},
    {"  memory", SECONDS(parts.memory)},
    {"  vector units", SECONDS(parts.vector)},
    {"  kernel launches", SECONDS(parts.launch)},
    {"  waiting for links", SECONDS(parts.links)},
    {"  waiting for slices", SECONDS(parts.dcn), .shown = has_dcn},
    {"  waiting for the host", SECONDS(parts.host), .shown = has_offloaded},
    {"  pipeline bubble", SECONDS(parts.bubble), .shown = has_bubble},
    {"examples per second", .put = put_rate},
    {"received over links", .put = put_received},
    {"model FLOPs used (MFU)", .put = put_mfu},
    {"1,000 steps", .put = put_dollars},
};

static void put_cell(const dt_job_plan *p, const row *r, dt_str *out) {
    const char *plan = (const char *)train_of(p);
    if (r->bytes) dt_str_bytes(out, (double)*(const int64_t *)(plan + r->bytes));
    else if (r->seconds) dt_put_seconds(out, *(const double *)(plan + r->seconds));
    else r->put(p, out);
}

static void print_row(const dt_plan_columns *c, const row *r, dt_str *out) {
    size_t from = out->size;
    bool shown = !r->shown;
    for (int i = 0; i < c->n && !shown; i++) shown = r->shown(c->p[i]) > 0;
    if (!shown) return;
    dt_str_puts(out, r->label);
    for (int i = 0; i < c->n; i++) {
        go_to(out, from, LABEL + i * COLUMN);
        put_cell(c->p[i], r, out);
    }
    if (r->exact) go_to(out, from, LABEL + c->n * COLUMN);
    dt_str_puts(out, r->exact ? "exact\n" : "\n");
}

static void print_head(const dt_job_plan *p, dt_str *out) {
    dt_str_printf(out, "%s on ", p->job->name);
    if (dt_job_plan_slices(p) > 1) dt_str_printf(out, "%d slices of ", dt_job_plan_slices(p));
    dt_str_printf(out, "%s%s   %d replica%s x %d logical device%s%s   ",
                  dt_job_plan_topology(p)->slice->chip->is_host ? "" : "sim:",
                  dt_topology_name(dt_job_plan_topology(p)), p->replicas,
                  p->replicas == 1 ? "" : "s", p->logical, p->logical == 1 ? "" : "s",
                  dt_job_plan_slices(p) > 1 ? " each" : "");
    dt_str_grouped(out, (int64_t)p->parameters);
    dt_str_puts(out, " parameters");
    if (p->parameters_here != p->parameters) {
        dt_str_puts(out, " (");
        dt_str_grouped(out, (int64_t)p->parameters_here);
        dt_str_puts(out, " per device)");
    }
    dt_str_puts(out, "\n\n");
}

/* ---- below the table ---- */

static void print_programs(const dt_job_plan *p, dt_str *out) {
    size_t from = out->size;
    dt_str_puts(out, "programs");
    dt_str_pad(out, from, LABEL);
    for (int i = 0; i < p->n; i++) {
        dt_str_printf(out, "%s%s of %lld: ", i ? ", " : "", p->step[i].name,
                      (long long)p->step[i].rows);
        dt_put_seconds(out, p->plan[i]->seconds);
    }
    dt_str_putc(out, '\n');
}

/* Prints the price of a chip or host, from which dollars are computed, with its source. */
static void print_price(const dt_job_plan *p, dt_str *out) {
    const dt_chip *chip = dt_job_plan_topology(p)->slice->chip;
    const dt_chip_price price = dt_job_plan_price(p);
    const size_t from = out->size;
    dt_str_puts(out, "price");
    dt_str_pad(out, from, LABEL);
    if (price.usd_hour > 0)
        dt_str_printf(out, "$ %.2f for %s and hour: %s\n", price.usd_hour,
                      chip->is_host ? "a host" : "a chip", price.source);
    else if (chip->is_host) dt_str_puts(out, "not known: the cluster's price_per_hour gives one\n");
    else dt_str_printf(out, "not known: --price %s=DOLLARS gives one\n", chip->generation);
}

static void print_layer(const dt_plan_layer *l, double whole, dt_str *out) {
    size_t from = out->size;
    int bound = 0;
    for (int b = 1; b < DT_BOUNDS; b++) bound = l->by[b] > l->by[bound] ? b : bound;
    dt_str_printf(out, "  %s", *l->path ? l->path : "(between layers)");
    if (l->times > 1) dt_str_printf(out, " x %g", l->times);
    go_to(out, from, LABEL);
    dt_put_seconds(out, l->seconds);
    go_to(out, from, LABEL + 12);
    dt_str_printf(out, "%4.1f %%", l->seconds / whole * 100);
    go_to(out, from, LABEL + 22);
    dt_str_printf(out, "%.0f %% bound by %s\n",
                  l->seconds > 0 ? l->by[bound] / l->seconds * 100 : 0,
                  dt_plan_bound_name((dt_plan_bound)bound));
}

static void print_layers(const dt_job_plan *p, bool all, dt_str *out) {
    dt_local_arena arena = dt_arena_create();
    int n, shown;
    dt_plan_layer *group = dt_plan_layer_groups(train_of(p), arena, &n);
    shown = all || n <= FEW_LAYERS ? n : FEW_LAYERS;
    dt_str_puts(out, "layers of a step\n");
    for (int i = 0; i < shown; i++) print_layer(&group[i], train_of(p)->seconds, out);
    if (shown < n) dt_str_printf(out, "  and %d more (-v shows them)\n", n - shown);
}

typedef struct collective {
    const char *name, *schedule;
    int launches;
    double bytes, seconds;
} collective;

enum { MOST_COLLECTIVES = 64 };

static int list_collectives(const dt_job_plan *p, collective *list) {
    const dt_plan *plan = train_of(p);
    int n = 0;
    for (int i = 0; i < plan->n_events; i++) {
        const dt_plan_event *e = &plan->event[i];
        const char *name = p->program[0]->local->node[e->node].op->name;
        int k = 0;
        while (e->unit && k < n &&
               (strcmp(list[k].name, name) != 0 || strcmp(list[k].schedule, e->schedule) != 0))
            k++;
        if (!e->unit || k == MOST_COLLECTIVES) continue;
        if (k == n) list[n++] = (collective){.name = name, .schedule = e->schedule};
        list[k].launches++;
        list[k].bytes += e->bytes;
        list[k].seconds += e->end - e->start;
    }
    return n;
}

static void print_collectives(const dt_job_plan *p, dt_str *out) {
    collective list[MOST_COLLECTIVES];
    int n = list_collectives(p, list);
    dt_str_puts(out, n ? "collectives of a step\n" : "");
    for (int i = 0; i < n; i++) {
        size_t from = out->size;
        dt_str_printf(out, "  %s x %d", list[i].name, list[i].launches);
        go_to(out, from, LABEL);
        dt_put_seconds(out, list[i].seconds);
        go_to(out, from, LABEL + 12);
        dt_str_bytes(out, list[i].bytes);
        go_to(out, from, LABEL + 24);
        dt_str_printf(out, "%s\n", list[i].schedule);
    }
}

static void print_links(const dt_job_plan *p, dt_str *out) {
    size_t from = out->size;
    bool any = false;
    dt_str_puts(out, "traffic per link");
    dt_str_pad(out, from, LABEL);
    for (int axis = 0; axis < 3; axis++)
        for (int up = 1; up >= 0; up--) {
            if (train_of(p)->link_bytes[axis][up] <= 0) continue;
            if (any && axis == 2 && up) {
                dt_str_putc(out, '\n');
                from = out->size;
                dt_str_pad(out, from, LABEL);
            }
            dt_str_printf(out, "%s%c%c ", out->size > from + LABEL ? ", " : "", "xyz"[axis],
                          up ? '+' : '-');
            dt_str_bytes(out, train_of(p)->link_bytes[axis][up]);
            any = true;
        }
    dt_str_puts(out, any ? "\n" : "none\n");
}

static void print_warning(void *user, const char *text) {
    dt_str_printf(user, "warning: %s\n", text);
}

void dt_job_plans_print(const dt_plan_columns *c, dt_str *out) {
    print_head(c->p[0], out);
    /* offset at which the line begins; labels are too long for titles of columns, so they are
     * listed with numbers above the table */
    size_t from;
    for (int i = 1; i < c->n; i++) dt_str_printf(out, "[%d] %s\n", i, c->label[i]);
    from = out->size;
    dt_str_puts(out, "per logical device");
    for (int i = 0; c->n > 1 && i < c->n; i++) {
        dt_str_pad(out, from, LABEL + i * COLUMN);
        dt_str_printf(out, i ? "[%d]" : "as it is", i);
    }
    dt_str_putc(out, '\n');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) print_row(c, &rows[i], out);
    if (!train_of(c->p[0])->chip->is_host) print_links(c->p[0], out);
    print_programs(c->p[0], out);
    print_price(c->p[0], out);
    for (int i = 0; i < c->n; i++) {
        if (i && c->p[i]->run.steps > 0) dt_str_printf(out, "[%d] ", i);
        dt_run_estimate_print(&c->p[i]->o.run, &c->p[i]->run, out);
    }
    dt_job_plan_print_errors(c->p[0], out);
    print_layers(c->p[0], c->verbose, out);
    if (c->verbose) print_collectives(c->p[0], out);
    dt_job_plan_print_fitting(c->p[0], out);
    dt_job_plan_warn(c->p[0], print_warning, out);
}
