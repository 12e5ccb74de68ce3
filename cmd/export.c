/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain export: writes a trained model as a file for other programs. */
#include <string.h>

#include "env.h"
#include "verb.h"

struct export {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *output;
    int format, names;
    bool without_map;
};

/* The choices of --to. The first one lets the file's suffix decide; the others are in the order of
 * dt_export_format. */
static const char *const formats[] = {"suffix", "onnx",       "safetensors", "npz",
                                      "keras",  "weights.h5", NULL};
static const char *const names[] = {"keras", "torch", NULL};

static dt_status *find_format(const struct call *call, dt_export_format *out) {
    const struct export *my = call->settings;
    const size_t length = my->output ? strlen(my->output) : 0;
    if (!my->output) return usage_error(call, "-o FILE is missing: where to write");
    *out = (dt_export_format)(my->format - 1);
    if (my->format > 0) return NULL;
    for (int i = 1; formats[i]; i++) {
        const size_t n = strlen(formats[i]);
        if (length > n && my->output[length - n - 1] == '.' &&
            strcmp(my->output + length - n, formats[i]) == 0) {
            *out = (dt_export_format)(i - 1);
            return NULL;
        }
    }
    return usage_error(
        call,
        "'%s' does not end in .onnx, .keras, .weights.h5, .safetensors or .npz: --to says what to "
        "write",
        cut_word(my->output).text);
}

static void watch(const dt_event *e, void *user) {
    const struct call *call = user;
    const struct export *my = call->settings;
    if (e->kind == DT_EVENT_WARNING) out_warn(call->out, "%s", e->text);
    if (e->kind == DT_EVENT_END && !call->out->quiet)
        out_field(call->out, "wrote", "%s, %lld parameters of %s, weights sha %.12s%s", my->output,
                  (long long)e->parameters, e->checkpoint, e->weights_sha256,
                  out_ellipsis(call->out));
}

static dt_status *export(const struct call *call, const dt_job_source *source,
                         dt_export_format format) {
    const struct export *my = call->settings;
    const dt_run_options options = {.threads = env_threads(call->out, my->compute.threads),
                                    .kernels = (dt_kernels)my->compute.kernels,
                                    .event = watch,
                                    .user = (void *)call};
    const dt_export_request request = {.checkpoint = my->checkpoint,
                                       .path = my->output,
                                       .format = format,
                                       .torch_names = my->names == 1,
                                       .without_map = my->without_map};
    dt_job *job = NULL;
    dt_status *s = dt_job_open(&job, source);
    if (!s) s = dt_job_export(job, &request, &options);
    dt_job_unref(job);
    return s;
}

static int run(const struct call *call) {
    const struct export *my = call->settings;
    dt_export_format format = DT_EXPORT_ONNX;
    dt_job_source source;
    dt_status *s = find_format(call, &format);
    if (!s && my->names == 1 && format != DT_EXPORT_SAFETENSORS && format != DT_EXPORT_NPZ)
        s = usage_error(call,
                        "--names torch is for safetensors and NPZ, not for ONNX and Keras' files");
    if (!s) s = take_job(call, &my->place, &source);
    if (s) return out_error(call->out, s);
    source.purpose = DT_FOR_PREDICT;
    return out_error(call->out, export(call, &source, format));
}

static const struct option options[] = {
    PATH(struct export, output, "output", "FILE", "output file", .letter = 'o'),
    CHOICE(struct export, format, "to", "FORMAT", formats, "format; suffix: by the suffix of FILE"),
    CHOICE(struct export, names, "names", "WHOSE", names,
           "names and shapes of weights; torch: PyTorch's, or those of init_from.path where the "
           "job maps them"),
    PATH(struct export, checkpoint, "ckpt", "PATH",
         "the checkpoint or saved model; default: the newest in output.dir"),
    FLAG(struct export, without_map, "without-map",
         "leave `map` out of the ONNX graph, so that its inputs are those of the model"),
    COMPUTE_OPTIONS(struct export),
    PLACE_OPTIONS(struct export),
    OPTIONS_END};
const struct verb verb_export = {
    .name = "export",
    .group = "Other",
    .line = "export a trained model as ONNX, .keras, .weights.h5, safetensors or NPZ",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain export job.yaml -o model.onnx                  takes raw examples, for ONNX "
        "Runtime and others\n"
        "  dtrain export job.yaml -o model.keras                 for keras.saving.load_model; "
        "takes "
        "examples after `map`\n"
        "  dtrain export job.yaml -o model.weights.h5            for Keras' load_weights, into the "
        "same model\n"
        "  dtrain export job.yaml -o weights.safetensors         the weights, with Keras' names\n"
        "  dtrain export job.yaml -o model.safetensors --names torch\n"
        "  dtrain export job.yaml --to npz -o w.npz --ckpt runs/a/ckpt/step-00000295\n",
    .options = options,
    .size = sizeof(struct export),
    .run = run,
};
