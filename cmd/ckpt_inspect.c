/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain ckpt inspect: shows what a checkpoint contains. */
#include "base/arena.h"
#include "verb.h"

struct ckpt_inspect {
    struct common common;
    bool json;
};

static int run(const struct call *call) {
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

static const struct option options[] = {
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
    .options = options,
    .size = sizeof(struct ckpt_inspect),
    .run = run,
};
