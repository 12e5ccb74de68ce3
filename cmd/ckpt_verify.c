/* dtrain ckpt verify: whether checkpoints are whole. */
#include <stdlib.h>

#include "verb.h"

struct ckpt_verify {
    struct common common;
    bool json;
};

/* Goes on after a damaged one; the first's exit code is that of all. */
static int verify(const struct call *call, const char *path)
{
    const struct ckpt_verify *my = call->settings;
    char *text = NULL;
    dt_status *s = dt_checkpoint_verify(path, my->json, &text);
    if (text && (my->json || !call->out->quiet))
        out_text(call->out, text);
    free(text);
    return out_error(call->out, s);
}

static int run(const struct call *call)
{
    int code = 0;
    if (call->operands.n == 0)
        return out_error(call->out, usage_error(call, "what to verify is missing: a run, a checkpoint or a file of weights"));
    for (int i = 0; i < call->operands.n; i++) {
        int its = verify(call, call->operands.at[i]);
        code = code ? code : its;
    }
    return code;
}

static const struct option options[] = {
    FLAG(struct ckpt_verify, json, "json", "print JSON lines, one a checkpoint that is whole"),
    OPTIONS_END
};
const struct verb verb_ckpt_verify = {
    .name = "ckpt verify",
    .group = "Look",
    .line = "whether checkpoints are whole: checksums, headers, the weights' SHA-256",
    .operands = "RUN|CKPT|FILE...",
    .examples = "  dtrain ckpt verify runs/quickstart                        every checkpoint of a run\n"
                "  dtrain ckpt verify weights.safetensors weights.npz\n",
    .more = "Exit code 65 if any is cut, altered or another run's; the messages name file and place.\n",
    .options = options,
    .size = sizeof(struct ckpt_verify),
    .run = run,
};
