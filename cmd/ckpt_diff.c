/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain ckpt diff: shows how much two checkpoints differ. */
#include <stdlib.h>

#include "base/arena.h"
#include "verb.h"

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

static int run(const struct call *call) {
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

static const struct option options[] = {
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
    .options = options,
    .size = sizeof(struct ckpt_diff),
    .run = run,
};
