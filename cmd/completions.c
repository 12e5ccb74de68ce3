/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain completions: prints shell code that calls `dtrain __complete` (complete.h). The code is in
 * cmd/shell, which the build embeds. */
#include <string.h>

#include "print.h"
#include "verb.h"

static const char *const bash[] = {
#include "dtrain.bash.inc"
    NULL};
static const char *const zsh[] = {
#include "dtrain.zsh.inc"
    NULL};
static const char *const fish[] = {
#include "dtrain.fish.inc"
    NULL};
static const struct {
    const char *name;
    const char *const *line; /* lines of the code; a NULL ends the list */
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
enum { SHELLS = sizeof shells / sizeof *shells };

struct completions {
    struct common common;
};

static dt_status *find(const struct call *call, const char *const **line) {
    if (call->operands.n == 0)
        return usage_error(call, "name of a shell missing: bash, zsh or fish");
    if (call->operands.n > 1)
        return usage_error(call, "one shell expected, got %d operands", call->operands.n);
    for (int i = 0; i < SHELLS && !*line; i++)
        if (strcmp(shells[i].name, call->operands.at[0]) == 0) *line = shells[i].line;
    return *line ? NULL
                 : usage_error(call, "expected bash, zsh or fish, got '%s'",
                               cut_word(call->operands.at[0]).text);
}

static int run(const struct call *call) {
    const char *const *line = NULL;
    dt_local_str t = {0};
    dt_status *s = find(call, &line);
    if (s) return out_error(call->out, s);
    for (; *line; line++) dt_str_puts(&t, *line);
    out_text(call->out, dt_str_text(&t));
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_completions = {
    .name = "completions",
    .group = "Other",
    .line = "print a completion script for verbs, options, values and keys of jobs",
    .operands = "bash|zsh|fish",
    .examples = "  source <(dtrain completions bash)          in this shell; 'make install' "
                "installs all three\n"
                "  dtrain completions zsh > ~/.zfunc/_dtrain\n"
                "  dtrain completions fish > ~/.config/fish/completions/dtrain.fish\n",
    .options = options,
    .size = sizeof(struct completions),
    .run = run,
};
