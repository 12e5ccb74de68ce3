/* dtrain predict: a model's outputs, into an NPY file. */
#include <string.h>

#include "env.h"
#include "verb.h"
#include "watch.h"

struct predict {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *input, *output;
    int split;
};

static const char *const splits[] = {"validation", "test", "train", NULL};

static dt_status *check(const struct call *call)
{
    const struct predict *my = call->settings;
    const char *suffix = my->output ? strrchr(my->output, '.') : NULL;
    if (!my->output)
        return usage_error(call, "where to write is missing: -o FILE.npy");
    if (!suffix || strcmp(suffix, ".npy") != 0)
        return usage_error(call, "'%s' must end in .npy; other formats are not implemented yet", cut_word(my->output).text);
    return NULL;
}

static dt_status *predict(const struct call *call, dt_job *job, struct watch *watch, dt_tensor **out)
{
    const struct predict *my = call->settings;
    const dt_run_options options = {
        .threads = env_threads(call->out, my->compute.threads),
        .kernels = (dt_kernels)my->compute.kernels,
        .event = watch_event,
        .user = watch,
    };
    const dt_predict_request request = {.checkpoint = my->checkpoint, .input = my->input, .split = splits[my->split]};
    return dt_job_predict(job, &request, &options, out);
}

static int run(const struct call *call)
{
    const struct predict *my = call->settings;
    dt_tensor *outputs = NULL;
    dt_job_source source;
    dt_job *job = NULL;
    dt_status *s = check(call);
    if (!s)
        s = take_job(call, &my->place, &source);
    if (s)
        return out_error(call->out, s);
    struct watch watch = {.out = call->out, .path = source.path};
    source.purpose = DT_FOR_PREDICT;
    s = dt_job_open(&job, &source);
    if (!s)
        s = predict(call, job, &watch, &outputs);
    if (!s)
        s = dt_tensor_save(outputs, my->output);
    if (!s && !call->out->quiet)
        out_field(call->out, "wrote", "%s, outputs of %lld examples", my->output, (long long)dt_tensor_dim(outputs, 0));
    int code = s ? watch_error(&watch, s) : 0;
    watch_end(&watch, code);
    watch_release(&watch);
    dt_tensor_unref(outputs);
    dt_job_unref(job);
    return code;
}

static const struct option options[] = {
    TEXT(struct predict, output, "output", "FILE", "where to: an NPY file (examples, ...)", .letter = 'o'),
    TEXT(struct predict, input, "input", "FILE", "an NPY file in place of the job's data; its `map` is applied"),
    TEXT(struct predict, checkpoint, "ckpt", "PATH", "the checkpoint or saved model; not given: the newest below output.dir"),
    CHOICE(struct predict, split, "split", "PART", splits, "the part of the job's data"),
    COMPUTE_OPTIONS(struct predict),
    PLACE_OPTIONS(struct predict),
    OPTIONS_END
};
const struct verb verb_predict = {
    .name = "predict",
    .group = "Work",
    .line = "write predictions",
    .operands = "JOB [key.path=value...]",
    .examples = "  dtrain predict job.yaml -o y.npy                      of the validation data, by the newest checkpoint\n"
                "  dtrain predict job.yaml --input x.npy -o y.npy        of a file, row by row\n",
    .options = options,
    .size = sizeof(struct predict),
    .run = run,
};
