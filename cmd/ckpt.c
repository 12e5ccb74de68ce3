/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs `dtrain ckpt ...`: list, show, compare, verify and convert checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "env.h"
#include "stop.h"
#include "verb.h"

/* ---- ckpt ls ---- */

struct ckpt_ls {
    struct common common;
    bool json;
};

static int run_ls(const struct call *call) {
    const struct ckpt_ls *my = call->settings;
    dt_status *s = call->operands.n
                       ? take_no_job(call, "")
                       : usage_error(call, "run missing: the directory that output.dir names");
    for (int i = 0; i < call->operands.n && !s; i++) {
        const char *path = call->operands.at[i];
        DT_LOCAL char *text = NULL;
        s = dt_checkpoint_list(path, my->json, &text);
        if (!s && call->operands.n > 1 && !my->json) out_line(call->out, "%s", path);
        if (!s) out_text(call->out, text);
    }
    return out_error(call->out, s);
}

static const struct option ls_options[] = {
    FLAG(struct ckpt_ls, json, "json", "print one JSON object per checkpoint"), OPTIONS_END};
const struct verb verb_ckpt_ls = {
    .name = "ckpt ls",
    .group = "Inspect",
    .line = "list the checkpoints of runs: step, time, size, SHA-256 of the weights, metrics",
    .operands = "RUN...",
    .examples = "  dtrain ckpt ls runs/quickstart\n  dtrain ckpt ls runs/* --json\n",
    .more = "Oldest first. Checksums are not verified (`dtrain ckpt verify` does that); a "
            "checkpoint that cannot be read is\n"
            "listed as damaged. Where EarlyStopping restored the weights of an earlier epoch, the "
            "metrics are\n"
            "those of that epoch: `kept epoch 17`.\n",
    .options = ls_options,
    .size = sizeof(struct ckpt_ls),
    .run = run_ls,
};

/* ---- ckpt inspect: shows what a checkpoint contains ---- */

struct ckpt_inspect {
    struct common common;
    bool json;
};

static int run_inspect(const struct call *call) {
    const struct ckpt_inspect *my = call->settings;
    dt_status *s =
        call->operands.n
            ? take_no_job(call, "")
            : usage_error(call, "expected a run, a checkpoint or a file of weights to inspect");
    for (int i = 0; i < call->operands.n && !s; i++) {
        DT_LOCAL char *text = NULL;
        s = dt_checkpoint_inspect(call->operands.at[i], my->json, &text);
        if (!s) out_text(call->out, text);
    }
    return out_error(call->out, s);
}

static const struct option inspect_options[] = {
    FLAG(struct ckpt_inspect, json, "json", "print one JSON object for each"), OPTIONS_END};
const struct verb verb_ckpt_inspect = {
    .name = "ckpt inspect",
    .group = "Inspect",
    .line = "show a checkpoint: its state, and shape, range and norm of each tensor",
    .operands = "RUN|CKPT|FILE...",
    .examples = "  dtrain ckpt inspect runs/quickstart                       the newest checkpoint "
                "of a run\n"
                "  dtrain ckpt inspect runs/a/ckpt/step-00000295 --json\n"
                "  dtrain ckpt inspect weights.safetensors\n",
    .options = inspect_options,
    .size = sizeof(struct ckpt_inspect),
    .run = run_inspect,
};

/* ---- ckpt diff: shows how much two checkpoints differ ---- */

struct ckpt_diff {
    struct common common;
    const char *within;
    bool json;
};

static dt_status *read_within(const struct call *call, double *out) {
    const struct ckpt_diff *my = call->settings;
    char *end = NULL;
    *out = my->within ? strtod(my->within, &end) : 0;
    if (!my->within || (end != my->within && !*end && *out >= 0)) return NULL;
    return usage_error(call, "--within: expected a number of at least 0, got '%s'",
                       cut_word(my->within).text);
}

static dt_status *differ_error(const struct call *call) {
    return dt_status_create(ERROR_CHECKPOINTS_DIFFER, "%s and %s differ", call->operands.at[0],
                            call->operands.at[1]);
}

static int run_diff(const struct call *call) {
    const struct ckpt_diff *my = call->settings;
    DT_LOCAL char *text = NULL;
    bool differ = false;
    double within = 0;
    dt_status *s = call->operands.n == 2
                       ? read_within(call, &within)
                       : usage_error(call, "two checkpoints expected, got %d", call->operands.n);
    if (!s)
        s = dt_checkpoint_diff(call->operands.at[0], call->operands.at[1], within, my->json, &text,
                               &differ);
    if (!s) out_text(call->out, text);
    if (!s && differ) s = differ_error(call);
    return out_error(call->out, s);
}

static const struct option diff_options[] = {
    TEXT(struct ckpt_diff, within, "within", "NUMBER",
         "ignore differences up to NUMBER; default: compare every bit"),
    FLAG(struct ckpt_diff, json, "json", "print one JSON object per tensor that differs"),
    OPTIONS_END};
const struct verb verb_ckpt_diff = {
    .name = "ckpt diff",
    .group = "Inspect",
    .line = "compare two checkpoints, tensor by tensor",
    .operands = "RUN|CKPT|FILE RUN|CKPT|FILE",
    .examples =
        "  dtrain ckpt diff runs/a runs/b                            their newest checkpoints\n"
        "  dtrain ckpt diff runs/a/ckpt/step-00000157 runs/a --json\n"
        "  dtrain ckpt diff a.safetensors b.npz --within 1e-6\n",
    .more = "Exit codes: 0 no difference, 80 a difference, 65 a checkpoint is damaged. Tensors of "
            "the optimizer are compared\n"
            "if both checkpoints have them.\n",
    .options = diff_options,
    .size = sizeof(struct ckpt_diff),
    .run = run_diff,
};

/* ---- ckpt verify: checks that checkpoints are undamaged, or repeats a run's last steps ---- */

struct ckpt_verify {
    struct common common;
    struct place place;
    struct compute compute;
    int64_t replay; /* number of steps to repeat; 0: none */
    bool json;
};

/* Verifies a run's checkpoints, one checkpoint or a file. Continues after a damaged one. Returns
 * the exit code of the first damaged one; 0: all are valid. */
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

static int run_verify(const struct call *call) {
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

static const struct option verify_options[] = {
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
    .options = verify_options,
    .size = sizeof(struct ckpt_verify),
    .run = run_verify,
};

/* ---- ckpt convert: writes weights, of Keras files too, as a file in another format ---- */

struct ckpt_convert {
    struct common common;
    const char *output;
};

static dt_status *convert(const struct call *call) {
    const struct ckpt_convert *my = call->settings;
    const char *suffix = my->output ? strrchr(my->output, '.') : NULL;
    if (call->operands.n != 1)
        return usage_error(call, "one run, checkpoint or file expected, got %d", call->operands.n);
    if (!my->output) return usage_error(call, "-o FILE.npz or -o FILE.safetensors is missing");
    if (suffix && strcmp(suffix, ".h5") == 0)
        return usage_error(
            call,
            "-o '%.80s': a .weights.h5 file needs the model, which a file of weights "
            "does not contain; use 'dtrain export JOB -o FILE.weights.h5'",
            my->output);
    if (!suffix || (strcmp(suffix, ".npz") != 0 && strcmp(suffix, ".safetensors") != 0))
        return usage_error(call, "-o '%.80s' ends neither in .npz nor in .safetensors", my->output);
    return dt_checkpoint_convert(call->operands.at[0], my->output);
}

static int run_convert(const struct call *call) {
    const struct ckpt_convert *my = call->settings;
    dt_status *s = convert(call);
    if (!s && !call->out->quiet)
        out_field(call->out, "wrote", "%s, weights of %s", my->output, call->operands.at[0]);
    return out_error(call->out, s);
}

static const struct option convert_options[] = {
    PATH(struct ckpt_convert, output, "output", "FILE",
         "output file; .npz or .safetensors selects the format", .letter = 'o'),
    OPTIONS_END};
const struct verb verb_ckpt_convert = {
    .name = "ckpt convert",
    .group = "Other",
    .line = "convert the weights of a checkpoint or file to safetensors or NPZ",
    .operands = "RUN|CKPT|FILE",
    .examples = "  dtrain ckpt convert runs/quickstart -o weights.npz\n  dtrain ckpt convert "
                "weights.npz -o weights.safetensors\n"
                "  dtrain ckpt convert model.keras -o weights.safetensors    also .weights.h5 and "
                ".h5, read by libhdf5\n",
    .options = convert_options,
    .size = sizeof(struct ckpt_convert),
    .run = run_convert,
};
