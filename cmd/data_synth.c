/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain data synth: generates sample data. */
#include "verb.h"

struct data_synth {
    struct common common;
    const char *output;
    uint64_t seed;
};

static dt_status *draw(const struct call *call) {
    const struct data_synth *my = call->settings;
    if (call->operands.n == 0) return usage_error(call, "kind of data missing: digits or text");
    if (call->operands.n > 1)
        return usage_error(call, "one kind of data expected, got %d operands", call->operands.n);
    if (!my->output || !*my->output) return usage_error(call, "-o DIR is missing");
    return dt_data_synth(call->operands.at[0], my->output, my->seed);
}

static int run(const struct call *call) {
    const struct data_synth *my = call->settings;
    dt_status *s = draw(call);
    if (!s && !call->out->quiet)
        out_line(call->out, "wrote %s to %s, seed %llu", call->operands.at[0], my->output,
                 (unsigned long long)my->seed);
    return out_error(call->out, s);
}

static const struct option options[] = {
    PATH(struct data_synth, output, "output", "DIR", "the directory to write to; it is created",
         .letter = 'o'),
    UNSIGNED(struct data_synth, seed, "seed", "N", "seed of the random numbers (default 0)"),
    OPTIONS_END};
const struct verb verb_data_synth = {
    .name = "data synth",
    .group = "Inspect",
    .line = "generate sample data; equal seeds produce equal files",
    .operands = "digits|text",
    .examples = "  dtrain data synth digits -o build/digits\n"
                "  dtrain data synth text -o build/text\n",
    .more = "digits: handwritten-looking digits as IDX files, 10,000 to train (train-*) and 2,000 "
            "to test (t10k-*), the training part also as\n"
            "x.npy (N, 784) float32 in [0, 1] and y.npy (N, 10) one-hot.\n"
            "text: play.txt, a play of 1,115,394 characters, 65 of them different, as in Tiny "
            "Shakespeare. A small grammar generates it: a model\n"
            "trains faster on it than on a real text, and reaches a lower loss.\n",
    .options = options,
    .size = sizeof(struct data_synth),
    .run = run,
};
