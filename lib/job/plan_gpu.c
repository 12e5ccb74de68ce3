/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain plan --check-with-cuda: compiles the training step as `fit --backend pjrt` would give it
 * to the plug-in, for a GPU that this machine need not have. Nothing is run. The memory and the
 * number of kernels come from the compiler. Where the compiler would measure on a GPU to choose
 * kernels, it guesses instead.
 */
#include "job/plan_check.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "export/stablehlo/stablehlo.h"

/* the fraction of a GPU's memory that plug-ins use by default */
static const double usual_fraction = 0.75;

typedef struct gpu_check {
    const dt_pjrt_gpu *gpu;
    const dt_job *job;
    int n;          /* number of GPUs */
    bool uncounted; /* whether `n` is 1 only because the number of GPUs of the machine is unknown */
    int64_t rows;   /* number of examples in the global batch */
    int64_t usable; /* bytes of a GPU's memory that a program can use */
    double took_s;
    dt_str compiler;
    dt_pjrt_report report;
} gpu_check;

/* ---- compiling ---- */

static dt_status *check_target(const dt_plan_request *q, gpu_check *c) {
    dt_local_str names = {0};
    c->gpu = dt_pjrt_gpu_find(q->target);
    if (c->gpu) return NULL;
    dt_pjrt_gpu_names(&names);
    return dt_fail(DT_E_USAGE, NULL, "--target: no GPU named '%.40s' is known; expected one of %s",
                   q->target, dt_str_text(&names));
}

static dt_status *check_strategy(const dt_job *j) {
    const bool shares = j->strategy.launch.workers || j->strategy.servers.workers;
    const char *why = dt_strategy_spec_topology(&j->strategy) ? "describes TPUs or a cluster"
                      : shares                                ? "shares the step among processes"
                                                              : NULL;
    if (!why) return NULL;
    return dt_suggest(dt_fail(DT_E_USAGE, &j->strategy.at,
                              "--check-with-cuda compiles one program for the GPUs of one machine; "
                              "the job's strategy %s",
                              why),
                      "leave the strategy out, or use mirrored with a replica for each GPU");
}

static int64_t usable_bytes(const gpu_check *c) {
    const dt_pjrt_setting *s = dt_pjrt_settings_find(c->job->settings, "memory_fraction");
    return (int64_t)((double)c->gpu->memory * (s ? s->value.number : usual_fraction));
}

static dt_status *write_program(const gpu_check *c, const dt_spmd *s, dt_str *out) {
    const bool rounds = c->job->settings && c->job->settings->products == DT_PJRT_TENSORFLOAT32;
    dt_hlo_request q = {.loops = true, .precision = rounds ? "HIGH" : "HIGHEST"};
    dt_hlo_aim(&q, "cuda", c->usable);
    return dt_stablehlo_write_spmd(s, &q, out, NULL);
}

static dt_status *compile(gpu_check *c, const dt_pjrt *plugin, const dt_spmd *s) {
    dt_local_str program = {0}, target = {0};
    c->n = dt_mesh_devices(&s->mesh);
    DT_LOCAL int64_t *device = dt_alloc(dt_size_mul((size_t)c->n, sizeof *device));
    for (int i = 0; i < c->n; i++) device[i] = i;
    dt_status *bad = write_program(c, s, &program);
    dt_pjrt_gpu_write(c->gpu, &target);
    const dt_pjrt_order order = {.slice = c->gpu->name,
                                 .target = dt_str_text(&target),
                                 .n_devices = c->n,
                                 .device = device,
                                 .program = dt_str_text(&program),
                                 .size = program.size};
    const int64_t start = dt_now_ns();
    if (!bad) bad = dt_pjrt_compile(plugin, &order, &c->report);
    c->took_s = dt_seconds_since(start);
    dt_pjrt_print_version(plugin, &c->compiler);
    return bad;
}

static dt_status *compile_job(gpu_check *c, dt_job *j, const dt_pjrt *plugin) {
    dt_session s = {0};
    dt_outlined step[DT_MOST_OUTLINED];
    const dt_spmd *program = NULL;
    /* the devices are GPUs, which cannot be counted here: the plug-in only compiles */
    j->strategy.backend = "pjrt";
    j->strategy.sealed = true;
    dt_status *bad = dt_session_outline(j, 0, &s);
    if (!bad) {
        c->uncounted = s.strategy->uncounted;
        s.model->precision = j->compile.precision;
        dt_trainer_outlined(s.trainer, step);
        c->rows = step[0].rows;
        bad = dt_trainer_priced(s.trainer, &step[0], &program);
    }
    if (!bad) bad = compile(c, plugin, program);
    dt_session_close(&s);
    return bad;
}

/* ---- the report ---- */

static int64_t total_bytes(const dt_pjrt_report *r) {
    return r->argument + r->output - r->alias + r->temp;
}

static bool fits_in(const gpu_check *c) { return total_bytes(&c->report) <= c->usable; }

static void put_bytes(dt_str *out, const char *name, int64_t bytes) {
    dt_str_printf(out, "  %-24s", name);
    dt_str_bytes(out, (double)bytes);
    dt_str_putc(out, '\n');
}

static void print(const gpu_check *c, dt_str *out) {
    const dt_pjrt_report *r = &c->report;
    dt_str_printf(out, "%s for %d x %s   global batch %lld\n", c->job->name, c->n, c->gpu->title,
                  (long long)c->rows);
    dt_str_printf(out, "%s compiled the training step in %.1f s, without a GPU\n\n",
                  dt_str_text(&c->compiler), c->took_s);
    dt_str_puts(out, "memory of a GPU\n");
    put_bytes(out, "weights and batch", r->argument);
    put_bytes(out, "results", r->output - r->alias);
    put_bytes(out, "temporaries", r->temp);
    put_bytes(out, "in all", total_bytes(r));
    dt_str_printf(out, "  %-24s%s", "fits", fits_in(c) ? "yes, of " : "NO, of ");
    dt_str_bytes(out, (double)c->usable);
    dt_str_printf(out, " (memory_fraction %.3g)\n", (double)c->usable / (double)c->gpu->memory);
    dt_str_printf(out, "kernels of a step         %.0f\n", r->kernels);
    dt_str_printf(out, "turns of loops            %.0f\n", r->turns);
    if (c->uncounted)
        dt_str_puts(out, "compiled for one GPU: the strategy takes all that a machine has; "
                         "replicas: N says how many\n");
    if (r->loops > 0)
        dt_str_printf(out, "loops that do not say how often they run, counted once: %d\n",
                      r->loops);
    for (int k = 0; k < DT_PJRT_KINDS; k++)
        if (r->collective[k].n > 0) {
            dt_str_printf(out, "%-26s%d, ", dt_pjrt_kinds[k], r->collective[k].n);
            dt_str_bytes(out, r->collective[k].bytes);
            dt_str_putc(out, '\n');
        }
}

static void put_json(const gpu_check *c, dt_str *out) {
    const dt_pjrt_report *r = &c->report;
    const struct {
        const char *key;
        double value;
    } counts[] = {
        {"gpus", c->n},
        {"global_batch", (double)c->rows},
        {"compile_s", c->took_s},
        {"arguments", (double)r->argument},
        {"results", (double)r->output},
        {"aliased", (double)r->alias},
        {"temporaries", (double)r->temp},
        {"total", (double)total_bytes(r)},
        {"usable", (double)c->usable},
        {"kernels", r->kernels},
        {"loop_turns", r->turns},
        {"loops_uncounted", r->loops},
    };
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "name", c->job->name);
    dt_json_string(&j, "target", c->gpu->name);
    dt_json_string(&j, "compiler", dt_str_text(&c->compiler));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        dt_json_double(&j, counts[i].key, counts[i].value);
    dt_json_open(&j, "collectives", '[');
    for (int k = 0; k < DT_PJRT_KINDS; k++)
        if (r->collective[k].n > 0) {
            dt_json_open(&j, NULL, '{');
            dt_json_string(&j, "kind", dt_pjrt_kinds[k]);
            dt_json_int(&j, "launches", r->collective[k].n);
            dt_json_double(&j, "bytes", r->collective[k].bytes);
            dt_json_close(&j, '}');
        }
    dt_json_close(&j, ']');
    dt_json_bool(&j, "fits", fits_in(c));
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

dt_status *dt_plan_of_gpu(const dt_plan_request *q, dt_str *out, bool *fits) {
    gpu_check c = {.job = q->jobs[0]};
    dt_pjrt *plugin = NULL;
    DT_TRY(check_target(q, &c));
    DT_TRY(check_strategy(c.job));
    DT_TRY(dt_pjrt_open(&plugin, q->compiler));
    c.usable = usable_bytes(&c);
    dt_status *s = compile_job(&c, q->jobs[0], plugin);
    dt_pjrt_close(plugin);
    if (!s) (q->form == DT_PLAN_JSON ? put_json : print)(&c, out);
    if (!s && fits) *fits = fits_in(&c);
    dt_str_release(&c.compiler);
    return s;
}
