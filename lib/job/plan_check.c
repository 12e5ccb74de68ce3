/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the plan with a compiler. The program of a device in a training step is written as
 * StableHLO, a plug-in compiles it for the job's slice, and the compiler's figures are printed next
 * to the plan's.
 *
 *     arguments     variables and the batch, with the padding of their tiles
 *     temporaries   other memory in use at the peak
 *     in all        arguments, results with memory of their own, temporaries
 *     collectives   number of launches, and bytes of their inputs on a device
 *     kernels       seconds: the compiler's are its cycles / the chip's clock, the plan's are
 *                   those without waiting for links
 */
#include "job/plan_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/stablehlo/stablehlo.h"

/* ---- the figures ---- */

/* Figures that the plan and the compiler both have: bytes of a device, seconds of its kernels,
 * collectives by dt_pjrt_kinds. */
typedef struct figures {
    double argument, output, alias, temp, total, usable;
    double compute_s;
    /* by kind: number of launches in a step, and bytes of their inputs on a device */
    struct {
        int n;
        double bytes;
    } collective[DT_PJRT_KINDS];
} figures;

struct dt_plan_check {
    dt_str compiler; /* name and version of the compiler */
    double took_s;   /* seconds that the compiler took */
    /* number of loops in the compiler's program that do not say how often they run, so that their
     * bodies count once */
    int loops;
    /* number of runs of kernels in a step that the compiler gives no estimate for */
    double unknown;
    unsigned left_out; /* features of the job that the compiled program lacks, one bit each */
    figures ours, theirs;
};

/* ---- the plan's figures ---- */

static double padded(const dt_spmd *s, int node) {
    dt_type t = dt_type_at(&s->local->node[node].type, s->batch / s->local->batch_parts);
    return (double)dt_padded_bytes(&t);
}

static void count_ends(const dt_spmd *s, figures *f) {
    const dt_graph *g = s->local;
    for (int i = 0; i < g->n_args; i++) f->argument += padded(s, g->arg[i].node);
    for (int i = 0; i < g->n_results; i++) f->output += padded(s, g->result[i].node);
    for (int i = 0; i < g->n_states; i++) {
        double bytes = padded(s, g->state[i].node), changed = g->state[i].update >= 0 ? bytes : 0;
        f->argument += bytes;
        f->output += changed;
        /* memory of a variable's old value, in which the new value is written */
        f->alias += changed;
    }
}

/* Returns the index of a collective's kind in dt_pjrt_kinds; -1: the node is not a collective. Both
 * lists have the same order. */
static int kind_of(const dt_node *n) {
    dt_across_kind k = dt_across_kind_of(n);
    return k < DT_ACROSS_KINDS ? (int)k : -1;
}
_Static_assert((int)DT_PJRT_KINDS == (int)DT_ACROSS_KINDS, "kinds of collectives");

static void count_collectives(const dt_spmd *s, figures *f) {
    /* number of the last bucket of each kind; a bucket has the number of its first node, and later
     * nodes may join any bucket */
    int last[DT_PJRT_KINDS];
    memset(last, -1, sizeof last);
    for (int i = 0; i < s->local->n_nodes; i++) {
        const dt_node *n = &s->local->node[i];
        int k = kind_of(n);
        if (k < 0 || dt_spmd_received(s, i) <= 0) continue;
        dt_type in = dt_type_at(&s->local->node[n->in[0]].type, s->batch / s->local->batch_parts);
        f->collective[k].n += s->bucket[i] < 0 || s->bucket[i] > last[k];
        f->collective[k].bytes += (double)dt_type_bytes(&in);
        if (s->bucket[i] > last[k]) last[k] = s->bucket[i];
    }
}

static figures figures_of(const dt_spmd *s, const dt_plan *p) {
    figures f = {.total = (double)p->bytes.total, .usable = (double)p->bytes.usable};
    count_ends(s, &f);
    count_collectives(s, &f);
    f.temp = f.total - f.argument;
    f.compute_s = p->parts.matrix + p->parts.memory + p->parts.vector + p->parts.launch;
    return f;
}

/* ---- the compiler's figures ---- */

/* Returns the bytes of temporaries. libtpu 0.0.42.1 reports the bytes of their heap plus those of
 * it that are unused when most are used. If it also reports the bytes that are used then (`peak`),
 * the heap is the mean of both. */
static double temporaries_of(const dt_pjrt_report *r) {
    const int64_t used = r->peak - r->argument - (r->output - r->alias);
    return used > 0 && used < r->temp ? (double)(r->temp + used) / 2 : (double)r->temp;
}

static figures figures_from(const dt_pjrt_report *r, const dt_chip *chip) {
    figures f = {.argument = (double)r->argument,
                 .output = (double)r->output,
                 .alias = (double)r->alias,
                 .temp = temporaries_of(r),
                 .usable = (double)r->hbm,
                 .compute_s = r->cycles / chip->clock_hz};
    f.total = f.argument + f.output - f.alias + f.temp;
    for (int k = 0; k < DT_PJRT_KINDS; k++) {
        f.collective[k].n = r->collective[k].n;
        f.collective[k].bytes = r->collective[k].bytes;
    }
    return f;
}

static char *slice_name(const dt_slice *s) {
    dt_str name = {0};
    dt_str_printf(&name, "%s:%dx%d", s->chip->generation, s->chips[0], s->chips[1]);
    if (s->chip->links > 4) dt_str_printf(&name, "x%d", s->chips[2]);
    dt_str_puts(&name, s->twisted ? "_twisted" : "");
    return dt_str_take(&name);
}

/* Returns the ids of the mesh's devices, in the mesh's order. The caller frees them. */
static int64_t *devices_of(const dt_spmd *s, const dt_assignment *a) {
    int n = dt_mesh_devices(&s->mesh);
    int64_t *id = dt_alloc(dt_size_mul((size_t)n, sizeof *id));
    for (int d = 0; d < n; d++)
        id[d] = dt_topology_id(a->topology,
                               dt_assignment_at(a, dt_mesh_rank(&s->mesh, d, s->mesh.replicas),
                                                dt_mesh_rank(&s->mesh, d, ~s->mesh.replicas)));
    return id;
}

static dt_status *compile(const dt_pjrt *plugin, const dt_spmd *s, const dt_assignment *a,
                          dt_pjrt_report *out) {
    const dt_slice *slice = a->topology->slice;
    dt_local_str program = {0};
    DT_LOCAL char *name = slice_name(slice);
    DT_LOCAL int64_t *device = devices_of(s, a);
    dt_pjrt_order order = {.slice = name,
                           .megacore = dt_topology_device_cores(a->topology) > 1,
                           .n_devices = dt_mesh_devices(&s->mesh),
                           .device = device};
    for (int axis = 0; axis < 3; axis++) {
        order.wrap[axis] = slice->wrap[axis];
        order.host[axis] = slice->chip->host[axis] < slice->chips[axis] ? slice->chip->host[axis]
                                                                        : slice->chips[axis];
    }
    /* blocks are loops where the plan counts loops, and attention keeps no scores for its gradient,
     * as the plan counts it */
    const dt_hlo_request text = {.loops = true, .settled = !s->how.scanned, .scores_again = true};
    dt_status *bad = dt_stablehlo_write_spmd(s, &text, &program, NULL);
    order.program = dt_str_text(&program);
    order.size = program.size;
    if (!bad) bad = dt_pjrt_compile(plugin, &order, out);
    return bad;
}

/* ---- asking the compiler ---- */

static bool is_reproducible(const dt_job_plan *p) { return p->job->how.shards > 0; }

static bool has_unequal_rows(const dt_job_plan *p) { return p->step[0].rows % p->replicas != 0; }

static const struct {
    bool (*is_in)(const dt_job_plan *p);
    const char *what;
} beyond[] = {
    {is_reproducible, "sums over the batch in a fixed order (reproducible)"},
    {has_unequal_rows, "replicas with fewer rows: each has as many as the largest"},
};
enum { N_BEYOND = sizeof beyond / sizeof *beyond };

/* Asks the compiler. s has the job's training step in the types of its policy. The plan instead
 * estimates the float32 step, and counts values of a mixed policy in its 16-bit type
 * (cost/plan.c). */
static dt_status *ask_of(struct dt_plan_check *c, const dt_job_plan *p, const dt_pjrt *plugin,
                         dt_session *s) {
    const dt_topology *t = p->job->strategy.resolver->topology;
    dt_assignment *given = p->session.strategy->assignment,
                  *a = given ? dt_assignment_ref(given) : dt_assignment_each_core(t);
    const dt_spmd *program = NULL;
    dt_pjrt_report report;
    int64_t start = dt_now_ns();
    s->model->precision = p->job->compile.precision;
    dt_status *bad = dt_trainer_priced(s->trainer, &p->step[0], &program);
    if (!bad) bad = compile(plugin, program, a, &report);
    dt_device_assignment_unref(a);
    DT_TRY(bad);
    c->took_s = dt_seconds_since(start);
    c->loops = report.loops;
    c->unknown = report.unknown;
    for (int i = 0; i < N_BEYOND; i++) c->left_out |= beyond[i].is_in(p) ? 1u << i : 0;
    c->ours = figures_of(program, p->plan[0]);
    c->theirs = figures_from(&report, t->slice->chip);
    dt_pjrt_print_version(plugin, &c->compiler);
    return NULL;
}

static dt_status *ask(struct dt_plan_check *c, const dt_job_plan *p, const dt_pjrt *plugin) {
    dt_session s = {0};
    dt_status *bad = dt_session_outline(p->job, 0, &s);
    if (!bad) bad = ask_of(c, p, plugin, &s);
    dt_session_close(&s);
    return bad;
}

dt_status *dt_plan_check_create(struct dt_plan_check **out, const dt_job_plan *p,
                                const char *path) {
    dt_pjrt *plugin = NULL;
    if (dt_job_plan_topology(p)->slice->chip->is_host)
        return dt_fail(
            DT_E_USAGE, NULL,
            "--check-with-libtpu: libtpu compiles for TPUs; the job describes a cluster");
    DT_TRY(dt_pjrt_open(&plugin, path));
    struct dt_plan_check *c = dt_alloc(sizeof *c);
    *c = (struct dt_plan_check){0};
    dt_status *bad = ask(c, p, plugin);
    dt_pjrt_close(plugin);
    if (bad) {
        dt_plan_check_destroy(c);
        return bad;
    }
    *out = c;
    return NULL;
}

void dt_plan_check_destroy(struct dt_plan_check *c) {
    if (!c) return;
    dt_str_release(&c->compiler);
    free(c);
}

/* ---- plan and compiler, side by side ---- */

enum { LABEL = 26, COLUMN = 16 };

static void put_seconds(dt_str *s, double x) { dt_str_printf(s, "%.3g ms", x * 1e3); }

/* Writes the difference in percent, with "+0.0 %" in place of "-0.0 %". */
static void put_difference(dt_str *out, double ours, double theirs) {
    double d = theirs > 0 ? (ours / theirs - 1) * 100 : 0;
    if (theirs > 0) dt_str_printf(out, "%+.1f %%", d > -0.05 && d < 0.05 ? 0.0 : d);
    else dt_str_puts(out, ours > 0 ? "only here" : "-");
    dt_str_putc(out, '\n');
}

static void put_row(dt_str *out, const char *label, void (*put)(dt_str *s, double x),
                    const double v[2]) {
    size_t from = out->size;
    dt_str_puts(out, label);
    for (int i = 0; i < 2; i++) {
        dt_str_pad(out, from, LABEL + i * COLUMN);
        put(out, v[i]);
    }
    dt_str_pad(out, from, LABEL + 2 * COLUMN);
    put_difference(out, v[0], v[1]);
}

static void put_collective(const struct dt_plan_check *c, int k, dt_str *out) {
    const int n[2] = {c->ours.collective[k].n, c->theirs.collective[k].n};
    const double v[2] = {c->ours.collective[k].bytes, c->theirs.collective[k].bytes};
    size_t from = out->size;
    if (n[0] + n[1] == 0) return;
    dt_str_printf(out, "  %s", dt_pjrt_kinds[k]);
    for (int i = 0; i < 2; i++) {
        dt_str_pad(out, from, LABEL + i * COLUMN);
        dt_str_printf(out, "%d: ", n[i]);
        dt_str_bytes(out, v[i]);
    }
    dt_str_pad(out, from, LABEL + 2 * COLUMN);
    put_difference(out, v[0], v[1]);
}

void dt_plan_check_print(const struct dt_plan_check *c, dt_str *out) {
    const figures *a = &c->ours, *b = &c->theirs;
    dt_str_printf(out, "\ncompared with %s, which compiled the training step in %.1f s\n",
                  dt_str_text(&c->compiler), c->took_s);
    size_t from = out->size;
    dt_str_pad(out, from, LABEL);
    dt_str_puts(out, "plan");
    dt_str_pad(out, from, LABEL + COLUMN);
    dt_str_puts(out, "compiler");
    dt_str_pad(out, from, LABEL + 2 * COLUMN);
    dt_str_puts(out, "plan by compiler\n");
    put_row(out, "  arguments", dt_str_bytes, (double[]){a->argument, b->argument});
    put_row(out, "  results", dt_str_bytes, (double[]){a->output, b->output});
    put_row(out, "    in arguments' memory", dt_str_bytes, (double[]){a->alias, b->alias});
    put_row(out, "  temporaries", dt_str_bytes, (double[]){a->temp, b->temp});
    put_row(out, "  total", dt_str_bytes, (double[]){a->total, b->total});
    put_row(out, "  usable HBM", dt_str_bytes, (double[]){a->usable, b->usable});
    for (int k = 0; k < DT_PJRT_KINDS; k++) put_collective(c, k, out);
    put_row(out, "  kernels", put_seconds, (double[]){a->compute_s, b->compute_s});
    if (c->loops > 0)
        dt_str_printf(out,
                      "loops of the compiler's program that do not say how often they run, counted "
                      "once: %d\n",
                      c->loops);
    if (c->unknown > 0)
        dt_str_printf(out,
                      "kernels that the compiler has no estimate of, counted as nothing: %.0f runs "
                      "in a step\n",
                      c->unknown);
    for (int i = 0; i < N_BEYOND; i++)
        if (c->left_out >> i & 1)
            dt_str_printf(out, "not in the compiled program: %s\n", beyond[i].what);
}

static void put_figures(const figures *f, const char *name, dt_json *j) {
    dt_json_open(j, name, '{');
    dt_json_double(j, "arguments", f->argument);
    dt_json_double(j, "results", f->output);
    dt_json_double(j, "aliased", f->alias);
    dt_json_double(j, "temporaries", f->temp);
    dt_json_double(j, "total", f->total);
    dt_json_double(j, "usable_hbm", f->usable);
    dt_json_double(j, "kernels_s", f->compute_s);
    dt_json_open(j, "collectives", '[');
    for (int k = 0; k < DT_PJRT_KINDS; k++)
        if (f->collective[k].n > 0) {
            dt_json_open(j, NULL, '{');
            dt_json_string(j, "kind", dt_pjrt_kinds[k]);
            dt_json_int(j, "launches", f->collective[k].n);
            dt_json_double(j, "bytes", f->collective[k].bytes);
            dt_json_close(j, '}');
        }
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

void dt_plan_check_json(const struct dt_plan_check *c, dt_json *j) {
    dt_json_open(j, "check", '{');
    dt_json_string(j, "compiler", dt_str_text(&c->compiler));
    dt_json_double(j, "compile_s", c->took_s);
    dt_json_int(j, "loops", c->loops);
    dt_json_double(j, "kernels_unknown", c->unknown);
    dt_json_open(j, "left_out", '[');
    for (int i = 0; i < N_BEYOND; i++)
        if (c->left_out >> i & 1) dt_json_string(j, NULL, beyond[i].what);
    dt_json_close(j, ']');
    put_figures(&c->ours, "plan", j);
    put_figures(&c->theirs, "compiled", j);
    dt_json_close(j, '}');
}
