/* SPDX-License-Identifier: Apache-2.0 */
/* From a row's words to a plan. */
#include "planned.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cost/expected_error.h"
#include "job/plan.h"
#include "device.h"

static dt_status *plan(const dt_job_source *source, const dt_plan_options *o, dt_planned *out) {
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    dt_status *s = dt_job_open(&job, source);
    if (!s) s = dt_job_plan_create(&p, job, o);
    if (!s)
        *out = (dt_planned){.seconds = p->plan[0]->seconds,
                            .bytes = (double)p->plan[0]->bytes.total,
                            .family = dt_family_of(p->program[0]->whole)};
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    return s;
}

bool dt_row_plan(const dt_rows *rows, const dt_row_job *job, dt_planned *out, dt_prediction *why) {
    char *path = dt_path_join(rows->configs, job->base);
    dt_status *s = plan(&(dt_job_source){.path = path,
                                         .overrides = job->overrides,
                                         .n_overrides = job->n,
                                         .purpose = DT_FOR_PLAN},
                        &(dt_plan_options){.product_rate = job->product_rate}, out);
    free(path);
    if (s) *why = dt_not_sufficient(rows, "its job cannot be planned: %s", dt_status_text(s));
    bool planned = !s;
    dt_status_free(s);
    return planned;
}

/* ---- models by name ---- */

static const struct {
    const char *name; /* letters and digits that a row's model begins with */
    const char *base;
} models[] = {
    {"resnet50", "resnet50.yaml"},
    {"bertlarge", "bert-large.yaml"},
};

static bool begins(const char *text, const char *name) {
    for (; *name && *text; text++)
        if (tolower((unsigned char)*text) == *name) name++;
        else if (isalnum((unsigned char)*text)) return false;
    return !*name;
}

static bool find_slice(const dt_row *row, dt_slice *out) {
    dt_status *s = *dt_row_text(row, "topology")
                       ? dt_slice_find(dt_row_text(row, "topology"), DT_E_UNKNOWN_SLICE, NULL, out)
                       : NULL;
    bool given = *dt_row_text(row, "topology") && !s;
    dt_status_free(s);
    return given || dt_slice_read(dt_row_text(row, "accelerator"), out);
}

bool dt_row_model_of(const dt_rows *rows, const dt_row *row, dt_row_model *out,
                     dt_prediction *why) {
    const char *model = dt_row_text(row, "model");
    *out = (dt_row_model){0};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (begins(model, models[i].name)) out->base = models[i].base;
    if (!out->base)
        *why = dt_not_sufficient(
            rows, "it does not say the layers of %.60s, and there is no published job of that name",
            *model ? model : "its model");
    else if (!find_slice(row, &out->slice))
        *why =
            dt_not_sufficient(rows, "there is no slice '%.40s'", dt_row_text(row, "accelerator"));
    else if ((out->batch = dt_row_number(row, "global_batch")) < 1)
        out->batch = dt_row_number(row, "per_device_batch") * dt_slice_chips(&out->slice) *
                     out->slice.chip->devices;
    if (out->base && out->slice.chip && out->batch < 1)
        *why = dt_not_sufficient(rows, "it does not say the batch");
    return out->base && out->slice.chip && out->batch >= 1;
}

bool dt_row_model_plan(const dt_rows *rows, const dt_row_model *m, dt_planned *out,
                       dt_prediction *why) {
    const char *overrides[] = {
        dt_arena_printf(rows->arena, "let.slice=sim:%s", m->slice.name),
        dt_arena_printf(rows->arena, "let.replicas=%d",
                        dt_slice_chips(&m->slice) * m->slice.chip->devices),
        dt_arena_printf(rows->arena, "let.batch=%.0f", m->batch),
        dt_arena_printf(rows->arena, "let.examples=%.0f", m->batch),
        "compile.precision=mixed_bfloat16",
    };
    return dt_row_plan(rows,
                       &(dt_row_job){.base = m->base,
                                     .overrides = overrides,
                                     .n = sizeof overrides / sizeof *overrides},
                       out, why);
}
