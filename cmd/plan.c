/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain plan: prints the resources that a job needs. */
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "verb.h"

enum { EXIT_DOES_NOT_FIT = 78, EXIT_MISSED = 80 };

struct plan {
    struct common common;
    struct place place;
    struct compute compute;
    const char *tpu, *budget, *svg, *libtpu, *cuda, *target;
    struct words what_if, price;
    const char *tokens, *examples, *usd;
    double deadline, mtbf;
    bool json, search;
};

/* The jobs of a call: the job itself, then the job with each --what-if. */
struct jobs {
    dt_job **at;
    const char **label;
    int n;
    dt_status *bad; /* errors of jobs that cannot be opened */
};

static dt_status *with_source(const struct call *call, const char *more,
                              dt_status *(*use)(const dt_job_source *source, void *user),
                              void *user) {
    const struct plan *my = call->settings;
    struct tpu_job job;
    dt_status *s = tpu_take_job(call, &my->place, my->tpu, more, &job);
    job.source.purpose = DT_FOR_PLAN;
    /* The devices are GPUs, which only a plug-in (back end pjrt) drives. */
    if (my->cuda) job.source.backend = "pjrt";
    if (!s) s = use(&job.source, user);
    tpu_release(&job);
    return s;
}

/* Checks the options about GPUs: --check-with-cuda and --target belong together, and cannot be
 * combined with options about slices or about other forms of a plan, because the former compiles
 * one job for one kind of GPU. */
static dt_status *check_cuda(const struct call *call) {
    const struct plan *my = call->settings;
    if (!my->cuda)
        return my->target ? usage_error(call, "--target needs --check-with-cuda PLUGIN") : NULL;
    if (!my->target) return usage_error(call, "--check-with-cuda needs --target GPU, such as h100");
    if (my->svg || my->search || my->what_if.n || my->libtpu || my->tpu || my->budget)
        return usage_error(call,
                           "--check-with-cuda cannot be combined with --svg, --search, --what-if, "
                           "--budget, --tpu or --check-with-libtpu");
    return NULL;
}

static dt_status *check_options(const struct call *call) {
    const struct plan *my = call->settings;
    dt_status *s = check_cuda(call);
    if (s) return s;
    if (my->svg && (my->search || my->json || my->what_if.n || my->libtpu))
        return usage_error(call, "--svg draws one plan; it cannot be combined with --search, "
                                 "--json, --what-if or --check-with-libtpu");
    if (my->search && (my->what_if.n || my->libtpu))
        return usage_error(call,
                           "--search cannot be combined with --what-if or --check-with-libtpu");
    if (my->search && my->price.n && !my->tokens && !my->examples)
        return usage_error(call, "--search with --price needs --tokens N or --examples N");
    return tpu_check(my->tpu);
}

static dt_status *open_one(const dt_job_source *source, void *user) {
    return dt_job_open(user, source);
}

static dt_status *open_jobs(const struct call *call, struct jobs *jobs) {
    const struct plan *my = call->settings;
    dt_status *s = NULL;
    size_t n = 1 + (size_t)my->what_if.n;
    jobs->at = calloc(n, sizeof *jobs->at);
    jobs->label = calloc(n, sizeof *jobs->label);
    if (!jobs->at || !jobs->label)
        return dt_status_create(ERROR_NO_MEMORY, "no memory for %zu jobs", n);
    for (size_t i = 0; !s && i < n; i++) {
        const char *label = i ? my->what_if.at[i - 1] : "as it is";
        if (i && !is_override(label))
            return usage_error(call, "--what-if: expected key.path=value, got '%s'",
                               cut_word(label).text);
        s = with_source(call, i ? label : NULL, open_one, &jobs->at[jobs->n]);
        jobs->label[jobs->n] = label;
        jobs->n += !s;
        if (i == 0 || !s) continue;
        dt_status_append(&jobs->bad,
                         /* A configuration with an error gets no column; its error is printed at
                          * the end, and the other configurations are still planned. */
                         s);
        s = NULL;
    }
    return s;
}

static void close_jobs(struct jobs *jobs) {
    for (int i = 0; i < jobs->n; i++) dt_job_unref(jobs->at[i]);
    free(jobs->at);
    free(jobs->label);
}

static dt_status *read_budget(const struct call *call, int64_t *bytes) {
    const struct plan *my = call->settings;
    *bytes = 0;
    if (!my->budget || dt_bytes_of(my->budget, bytes)) return NULL;
    return usage_error(call, "--budget: expected a size such as 16GiB, got '%s'",
                       cut_word(my->budget).text);
}

/* Reads the number of an option, such as "15e12", which must be above 0 and at most 1e18. It is 0
 * if the option is not given (text NULL). */
static dt_status *read_amount(const struct call *call, const char *name, const char *text,
                              double *amount) {
    *amount = 0;
    if (!text || (dt_parse_double(text, amount) && *amount > 0 && *amount <= 1e18)) return NULL;
    return usage_error(call, "%s: expected a number above 0, such as 15e12, got '%s'", name,
                       cut_word(text).text);
}

static dt_status *read_run(const struct call *call, dt_plan_run *run) {
    const struct plan *my = call->settings;
    dt_status *s = read_amount(call, "--tokens", my->tokens, &run->tokens);
    if (!s) s = read_amount(call, "--examples", my->examples, &run->examples);
    if (!s) s = read_amount(call, "--budget-usd", my->usd, &run->usd);
    if (s) return s;
    run->deadline_s = my->deadline;
    run->mtbf_s = my->mtbf;
    if (my->tokens && my->examples)
        return usage_error(call, "--tokens and --examples cannot be combined");
    if ((my->usd || my->deadline > 0 || my->mtbf > 0) && !my->tokens && !my->examples)
        return usage_error(call,
                           "--deadline, --budget-usd and --mtbf need --tokens N or --examples N");
    return NULL;
}

struct searching {
    dt_search_request request;
    char **text;
    bool *fits;
};

static dt_status *search_one(const dt_job_source *source, void *user) {
    struct searching *q = user;
    q->request.source = source;
    return dt_plan_search(&q->request, q->text, q->fits);
}

struct planning {
    dt_plan_request *request;
    char **text;
    bool *fits;
};

static dt_status *plan_jobs(const dt_job_source *source, void *user) {
    struct planning *q = user;
    q->request->source = source;
    return dt_plan_text(q->request, q->text, q->fits);
}

static dt_status *plan(const struct call *call, char **text, bool *fits, bool *met) {
    const struct plan *my = call->settings;
    struct jobs jobs = {0};
    dt_plan_request request = {.form = my->svg    ? DT_PLAN_SVG
                                       : my->json ? DT_PLAN_JSON
                                                  : DT_PLAN_TEXT,
                               .verbose = my->common.verbose,
                               .threads = env_threads(call->out, my->compute.threads),
                               .kernels = (dt_kernels)my->compute.kernels,
                               .file = my->svg && strcmp(my->svg, "-") != 0 ? my->svg : NULL,
                               .compiler = my->cuda ? my->cuda : my->libtpu,
                               .target = my->target,
                               .prices = my->price.at,
                               .n_prices = my->price.n};
    dt_status *s = check_options(call);
    if (!s) s = read_budget(call, &request.budget);
    if (!s) s = read_run(call, &request.run);
    request.run.met = met;
    if (!s && my->search)
        return with_source(call, NULL, search_one,
                           &(struct searching){{.budget = request.budget,
                                                .json = my->json,
                                                .prices = my->price.at,
                                                .n_prices = my->price.n,
                                                .run = request.run,
                                                .fixed = my->tpu},
                                               text,
                                               fits});
    if (!s) s = open_jobs(call, &jobs);
    request.jobs = jobs.at;
    request.labels = jobs.label;
    request.n_jobs = jobs.n;
    if (!s) s = with_source(call, NULL, plan_jobs, &(struct planning){&request, text, fits});
    dt_status_append(&s, jobs.bad);
    close_jobs(&jobs);
    return s;
}

static int run(const struct call *call) {
    const struct plan *my = call->settings;
    char *text = NULL;
    bool fits = true, met = true;
    dt_status *s = plan(call, &text, &fits, &met);
    if (text) out_text(call->out, text);
    if (text && !*text) out_field(call->out, "wrote", "%s", my->svg);
    free(text);
    int code = out_error(call->out, s);
    return code ? code : !fits ? EXIT_DOES_NOT_FIT : met ? 0 : EXIT_MISSED;
}

static const struct option options[] = {
    MAYBE(struct plan, tpu, "tpu", "TYPE",
          "use this slice instead of the job's: v3-32, v4-128, v5p:8x8x8"),
    LIST(struct plan, what_if, "what-if", "KEY=VALUE", "add a column with this override"),
    LIST(struct plan, price, "price", "GENERATION=USD",
         "US dollars for a chip and hour instead of the table's: v6e=1.22"),
    TEXT(struct plan, tokens, "tokens", "N", "plan a whole run of N tokens, with failures: 15e12"),
    TEXT(struct plan, examples, "examples", "N", "the same of N examples"),
    SECONDS(struct plan, deadline, "deadline", "TIME", "exit 80 if that run takes longer: 30d"),
    TEXT(struct plan, usd, "budget-usd", "USD", "exit 80 if that run costs more"),
    SECONDS(struct plan, mtbf, "mtbf", "TIME",
            "mean time between failures of one chip; default: 50,677 h"),
    TEXT(struct plan, budget, "budget", "SIZE", "memory limit per device: 16GiB"),
    FLAG(
        struct plan, search, "search",
        "try replicas x logical devices x batch x rematerialization x over_replicas; with --tokens "
        "or --examples slices instead of batches"),
    FLAG(struct plan, json, "json", "print one JSON object"),
    PATH(struct plan, svg, "svg", "FILE",
         "write a drawing of memory, time and layers; -: standard output"),
    PATH(struct plan, libtpu, "check-with-libtpu", "PATH",
         "also compile the step with the libtpu.so at PATH and compare"),
    PATH(struct plan, cuda, "check-with-cuda", "PATH",
         "compile the step with the CUDA plug-in at PATH for --target, which need not be here"),
    TEXT(struct plan, target, "target", "GPU", "the GPU to compile for: a100, h100, h200, l4",
         .words = "a100 h100 h200 l4"),
    COMPUTE_OPTIONS(struct plan),
    PLACE_OPTIONS(struct plan),
    OPTIONS_END};
const struct verb verb_plan = {
    .name = "plan",
    .group = "Check",
    .line = "report memory, time and traffic of a job without training it",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain plan job.yaml                                    memory per device, time per "
        "step and its parts\n"
        "  dtrain plan job.yaml --tpu v4-128                       on another slice\n"
        "  dtrain plan job.yaml --what-if dataset.global_batch_size=256   side by side\n"
        "  dtrain plan job.yaml --search --budget 16GiB            the fastest shapes that fit\n"
        "  dtrain plan job.yaml --search --tokens 15e12            which slice: days and dollars\n"
        "  dtrain plan job.yaml --check-with-libtpu ~/libtpu/libtpu.so    compare with the real "
        "compiler\n"
        "  dtrain plan job.yaml --check-with-cuda xla_cuda_plugin.so --target h100    for a GPU\n",
    .more = "Exits with 78 if the job does not fit, as fit would; with --search, if no shape fits. "
            "Times are estimates;\n"
            "docs/simulator.md reports how accurate they are. A job without a slice is planned for "
            "this machine: memory as\n"
            "fit announces it, and times measured by training for about a second. Nothing is "
            "written.\n",
    .options = options,
    .size = sizeof(struct plan),
    .run = run,
};
