/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error to expect of a plan, from published steps of the same kind: how far estimates of them
 * were off, where each estimate does not use the step's own source. If no step of the kind was
 * published, the plan says so.
 */
#include <math.h>
#include <string.h>

#include "cost/expected_error.h"
#include "job/partition.h"
#include "job/plan.h"

enum { LABEL = 26 };

static const char *precision_of(const dt_job *j) {
    if (j->compile.quantization != DT_QUANTIZE_NONE)
        return dt_quantizations[j->compile.quantization];
    switch (j->compile.precision) {
    case DT_POLICY_MIXED_BFLOAT16: return "bfloat16";
    case DT_POLICY_MIXED_FLOAT16: return "float16";
    default: return "float32";
    }
}

static const char *split_of(const dt_job_plan *p) {
    const dt_job_partition *parts = p->job->partition;
    return p->logical == 1                       ? "data"
           : p->job->how.micro_batches > 1       ? "pipeline"
           : parts && parts->collective_products ? "tensor in pieces"
                                                 : "tensor";
}

static dt_plan_kind kind_of(const dt_job_plan *p) {
    const dt_rematerialize *r = &p->job->model.rematerialize;
    return (dt_plan_kind){.family = dt_family_of(p->program[0]->whole),
                          .precision = precision_of(p->job),
                          .split = split_of(p),
                          .policy = !r->on       ? "none"
                                    : r->offload ? "offloaded"
                                    : r->save    ? "kept"
                                                 : "full"};
}

static bool is_calibrated(const dt_job_plan *p, const dt_plan_kind *kind) {
    const char *on = p->plan[0]->chip->kernel.calibrated;
    return on && strcmp(on, kind->family) == 0;
}

static void put_label(const char *label, dt_str *out) {
    const size_t from = out->size;
    dt_str_puts(out, label);
    dt_str_pad(out, from, LABEL);
}

static void put_error(const dt_expected_error *e, dt_str *out) {
    dt_str_printf(out, "median %.1f %%, worst %.1f %% of %d published", 100 * e->median,
                  100 * e->worst, e->rows);
}

static void put_kind(const dt_plan_kind *k, dt_str *out) {
    dt_str_printf(out, "%s in %s, split: %s, rematerialize: %s\n", k->family, k->precision,
                  k->split, k->policy);
}

static void print_steps(const dt_job_plan *p, dt_str *out) {
    const dt_plan_kind kind = kind_of(p);
    const char *chip = p->plan[0]->chip->generation;
    const dt_expected_error *all = dt_expected_error_of(&kind, ""),
                            *here = dt_expected_error_of(&kind, chip);
    if (!all) {
        dt_str_puts(out, "steps: not compared with any run of this kind:\n");
        put_label("", out);
        put_kind(&kind, out);
        return;
    }
    dt_str_puts(out, "steps: ");
    put_error(all, out);
    dt_str_puts(out, ", each with its source left out\n");
    put_label("", out);
    dt_str_printf(out, "on %s: ", chip);
    if (here) put_error(here, out);
    else dt_str_puts(out, "not compared with any run");
    dt_str_puts(out, is_calibrated(p, &kind) ? ", calibrated on some of them\n" : "\n");
    put_label("", out);
    dt_str_puts(out, "of ");
    put_kind(&kind, out);
}

double dt_job_plan_error(const dt_job_plan *p) {
    const dt_plan_kind kind = kind_of(p);
    const dt_expected_error *e = dt_expected_error_of(&kind, "");
    return e ? e->median : NAN;
}

void dt_job_plan_print_errors(const dt_job_plan *p, dt_str *out) {
    const dt_chip *chip = p->plan[0]->chip;
    put_label("error to expect", out);
    if (chip->is_host) {
        dt_str_puts(out, "not known: times follow from the rates that the job gives\n");
        return;
    }
    print_steps(p, out);
    const dt_expected_error *products =
        dt_expected_error_of(&dt_compiler_estimate, chip->generation);
    put_label("", out);
    dt_str_puts(out, "products, compiled: ");
    if (products) put_error(products, out);
    else dt_str_puts(out, "not compared with any run");
    dt_str_putc(out, '\n');
}

static void put_numbers(const dt_expected_error *e, dt_json *j) {
    dt_json_int(j, "rows", e->rows);
    dt_json_double(j, "median", e->median);
    dt_json_double(j, "worst", e->worst);
}

/* Writes an object, or null if nothing was compared. */
static void put_object(dt_json *j, const char *key, const dt_expected_error *e) {
    if (!e) {
        dt_json_null(j, key);
        return;
    }
    dt_json_open(j, key, '{');
    put_numbers(e, j);
    dt_json_close(j, '}');
}

void dt_job_plan_errors_json(const dt_job_plan *p, dt_json *j) {
    const dt_plan_kind kind = kind_of(p);
    const char *chip = p->plan[0]->chip->generation;
    dt_json_open(j, "expected_error", '{');
    dt_json_open(j, "kind", '{');
    dt_json_string(j, "family", kind.family);
    dt_json_string(j, "precision", kind.precision);
    dt_json_string(j, "split", kind.split);
    dt_json_string(j, "policy", kind.policy);
    dt_json_close(j, '}');
    put_object(j, "train-step", dt_expected_error_of(&kind, ""));
    put_object(j, "train-step-on-this-chip", dt_expected_error_of(&kind, chip));
    dt_json_bool(j, "calibrated_on_them", is_calibrated(p, &kind));
    put_object(j, "compiler-estimate", dt_expected_error_of(&dt_compiler_estimate, chip));
    dt_json_close(j, '}');
}
