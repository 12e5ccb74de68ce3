/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain ckpt ls: lists the checkpoints of a run. */
#include "base/arena.h"
#include "verb.h"

struct ckpt_ls {
    struct common common;
    bool json;
};

static int run(const struct call *call) {
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

static const struct option options[] = {
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
    .options = options,
    .size = sizeof(struct ckpt_ls),
    .run = run,
};
