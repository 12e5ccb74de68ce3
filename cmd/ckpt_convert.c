/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain ckpt convert: writes the weights of a checkpoint, or of a file of Keras, as a file in
 * another format. */
#include <string.h>

#include "verb.h"

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

static int run(const struct call *call) {
    const struct ckpt_convert *my = call->settings;
    dt_status *s = convert(call);
    if (!s && !call->out->quiet)
        out_field(call->out, "wrote", "%s, weights of %s", my->output, call->operands.at[0]);
    return out_error(call->out, s);
}

static const struct option options[] = {PATH(struct ckpt_convert, output, "output", "FILE",
                                             "output file; .npz or .safetensors selects the format",
                                             .letter = 'o'),
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
    .options = options,
    .size = sizeof(struct ckpt_convert),
    .run = run,
};
