/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain ckpt verify: checks that checkpoints are complete and undamaged. */
#include "base/arena.h"
#include "env.h"
#include "stop.h"
#include "verb.h"

struct ckpt_verify {
    struct common common;
    struct place place;
    struct compute compute;
    int64_t replay; /* number of steps to repeat; 0: none */
    bool json;
};

/* Verifies checkpoints. Continues after a damaged one; the exit code is that of the first damaged
 * one. */
static int verify(const struct call *call, const char *path) {
    const struct ckpt_verify *my = call->settings;
    DT_LOCAL char *text = NULL;
    dt_status *s = dt_checkpoint_verify(path, my->json, &text);
    if (text && (my->json || !call->out->quiet)) out_text(call->out, text);
    return out_error(call->out, s);
}

static void listen(const dt_event *e, void *user) {
    if (e->kind == DT_EVENT_WARNING) out_warn(user, "%s", e->text);
    if (e->kind == DT_EVENT_STEP) stop_steps_begin();
}

static dt_status *replay(const struct call *call, dt_job *job, char **text) {
    const struct ckpt_verify *my = call->settings;
    const dt_run_options options = {
        .threads = env_threads(call->out, my->compute.threads),
        .kernels = (dt_kernels)my->compute.kernels,
        .event = listen,
        .user = call->out,
        .stop = stop_flag(),
    };
    stop_install();
    return dt_job_replay(job, my->replay, my->json, &options, text);
}

static int run_replay(const struct call *call) {
    const struct ckpt_verify *my = call->settings;
    dt_job_source source;
    dt_job *job = NULL;
    DT_LOCAL char *text = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    if (!s) s = dt_job_open(&job, &source);
    if (!s) s = replay(call, job, &text);
    if (text && (my->json || s || !call->out->quiet)) out_text(call->out, text);
    dt_job_unref(job);
    return out_error(call->out, s);
}

static dt_status *take_paths(const struct call *call) {
    if (call->operands.n == 0)
        return usage_error(call, "expected a run, a checkpoint or a file of weights to verify");
    return take_no_job(call, ", or --replay N to train its last N steps again");
}

static int run(const struct call *call) {
    const struct ckpt_verify *my = call->settings;
    if (my->replay > 0) return run_replay(call);
    int code = out_error(call->out, take_paths(call));
    if (code) return code;
    for (int i = 0; i < call->operands.n; i++) {
        int its = verify(call, call->operands.at[i]);
        code = code ? code : its;
    }
    return code;
}

static const struct option options[] = {
    INTEGER(struct ckpt_verify, replay, "replay", "N",
            "repeat at least the last N steps of a JOB's run and compare every bit", .min = 1),
    FLAG(struct ckpt_verify, json, "json", "print one JSON object per valid checkpoint"),
    COMPUTE_OPTIONS(struct ckpt_verify),
    BACKEND_OPTIONS(struct ckpt_verify),
    PLACE_OPTIONS(struct ckpt_verify),
    OPTIONS_END};
const struct verb verb_ckpt_verify = {
    .name = "ckpt verify",
    .group = "Inspect",
    .line = "verify checkpoints: checksums, headers, SHA-256 of the weights",
    .operands = "RUN|CKPT|FILE... | JOB [key.path=value...]",
    .examples =
        "  dtrain ckpt verify runs/quickstart                        every checkpoint of a run\n"
        "  dtrain ckpt verify weights.safetensors weights.npz\n"
        "  dtrain ckpt verify --replay 20 job.yaml                   repeat the last 20 steps and "
        "compare\n"
        "  dtrain ckpt verify --replay 20 job.yaml strategy.replicas=4      the same with 4 "
        "replicas\n",
    .more = "Exits with 65 if a checkpoint is truncated, altered or of another run; the messages "
            "name the file and what is\n"
            "wrong in it.\n\n"
            "--replay starts at the newest checkpoint that is at least N steps older than the "
            "newest one, or at the beginning\n"
            "of training, and trains up to the newest one in a temporary directory below TMPDIR. "
            "It exits with 80 if a\n"
            "weight, an optimizer slot or the state of a callback has different bits: the data has "
            "changed, another kernel\n"
            "library was used, or one of the machines computed wrongly. It exits with 75 if a "
            "signal stopped it before the\n"
            "comparison.\n",
    .options = options,
    .size = sizeof(struct ckpt_verify),
    .run = run,
};
