/* SPDX-License-Identifier: Apache-2.0 */
/* On what it ran, and the hashes by which a run and its job are known again. */
#include "report/report.h"

static const json_t *host_of(const dt_report_run *r)
{
    return r->start ? json_object_get(r->start, "host") : NULL;
}

#define START_FACT(name, key)                                       \
    static void put_##name(const dt_report_run *r, dt_str *out)     \
    {                                                               \
        dt_html_text(out, r->start ? dt_report_text(r->start, key) : NULL); \
    }
#define HOST_FACT(name, key)                                        \
    static void put_##name(const dt_report_run *r, dt_str *out)     \
    {                                                               \
        dt_html_text(out, dt_report_text(host_of(r), key));         \
    }
START_FACT(version, "dtrain")
START_FACT(backend, "backend")
START_FACT(kernels, "kernels")
START_FACT(seed, "seed")
HOST_FACT(host, "name")
HOST_FACT(processor, "processor")
HOST_FACT(instructions, "instructions")

static void put_system(const dt_report_run *r, dt_str *out)
{
    static const char *const keys[] = {"system", "release", "machine"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        dt_str_puts(out, i && dt_report_text(host_of(r), keys[i]) ? " " : "");
        dt_html_text(out, dt_report_text(host_of(r), keys[i]));
    }
}

static void put_began(const dt_report_run *r, dt_str *out)
{
    dt_html_time(out, r->start ? dt_report_text(r->start, "time") : NULL);
}

static void put_cores(const dt_report_run *r, dt_str *out)
{
    if (host_of(r))
        dt_html_count(out, dt_report_int(host_of(r), "cores"));
}

static void put_weights(const dt_report_run *r, dt_str *out)
{
    if (r->weights_sha256)
        dt_html_hash(out, r->weights_sha256);
}

static void put_job(const dt_report_run *r, dt_str *out)
{
    if (r->job_sha256)
        dt_html_hash(out, r->job_sha256);
}

static void put_path(const dt_report_run *r, dt_str *out)
{
    dt_html_tag(out, "code", "", r->shown);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    static const dt_fact facts[] = {
        {"weights, SHA-256", put_weights}, {"job, SHA-256", put_job}, {"seed", put_seed},
        {"run directory", put_path}, {"began", put_began}, {"dtrain", put_version}, {"back end", put_backend}, {"kernels", put_kernels},
        {"instruction set", put_instructions}, {"machine", put_host}, {"processor", put_processor}, {"cores", put_cores}, {"system", put_system},
    };
    dt_facts_put(p, facts, sizeof facts / sizeof *facts, out);
}

const dt_report_section dt_report_environment = {"environment", "Hashes and environment", put};
