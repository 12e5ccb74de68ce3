/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain completions: what makes a shell complete our command lines, made from the tables that they are read by. */
#include <stdlib.h>
#include <string.h>

#include "complete.h"
#include "text.h"

#define SHELL(name) extern const struct shell shell_##name;
#include "shells.h"
#undef SHELL

static const struct shell *const shells[] = {
#define SHELL(name) &shell_##name,
#include "shells.h"
#undef SHELL
};
enum { SHELLS = sizeof shells / sizeof *shells };

struct completions {
    struct common common;
};

static dt_status *find(const struct call *call, const struct shell **shell)
{
    if (call->operands.n == 0)
        return usage_error(call, "name of a shell missing: bash, zsh or fish");
    if (call->operands.n > 1)
        return usage_error(call, "one shell expected, got %d operands", call->operands.n);
    for (int i = 0; i < SHELLS && !*shell; i++)
        if (strcmp(shells[i]->name, call->operands.at[0]) == 0)
            *shell = shells[i];
    return *shell ? NULL : usage_error(call, "expected bash, zsh or fish, got '%s'", cut_word(call->operands.at[0]).text);
}

static int run(const struct call *call)
{
    const struct shell *shell = NULL;
    struct text t;
    dt_status *s = find(call, &shell);
    if (s)
        return out_error(call->out, s);
    struct keys *keys = grow(NULL, sizeof *keys);
    keys_open(keys);
    text_open(&t);
    shell->print(t.to, keys);
    out_text(call->out, text_bytes(&t));
    text_close(&t);
    keys_close(keys);
    free(keys);
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_completions = {
    .name = "completions",
    .group = "Other",
    .line = "print a completion script for verbs, options, values and keys of jobs",
    .operands = "bash|zsh|fish",
    .examples = "  source <(dtrain completions bash)          in this shell; 'make install' installs all three\n"
                "  dtrain completions zsh > ~/.zfunc/_dtrain\n"
                "  dtrain completions fish > ~/.config/fish/completions/dtrain.fish\n",
    .options = options,
    .size = sizeof(struct completions),
    .run = run,
};
