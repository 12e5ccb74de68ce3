/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain explain: the long text of an error number. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "verb.h"

struct explain {
    struct common common;
};

/* "DT042", "dt42", "42"; -1 for anything else. */
static int number_of(const char *code) {
    const char *digits = strncasecmp(code, "DT", 2) == 0 ? code + 2 : code;
    size_t n = strlen(digits);
    return n > 0 && n <= 4 && strspn(digits, "0123456789") == n ? atoi(digits) : -1;
}

static dt_status *not_explained(const struct call *call, const char *code) {
    if (number_of(code) >= 0)
        return usage_error(call, "no error has the number '%s'", cut_word(code).text);
    return usage_error(call,
                       "'%s' is not the number of an error, such as DT017; 'dtrain help' explains "
                       "verbs, layers, losses and keys",
                       cut_word(code).text);
}

static int run(const struct call *call) {
    if (call->operands.n == 0)
        return out_error(call->out, usage_error(call, "error number missing, such as DT017"));
    for (int i = 0; i < call->operands.n; i++) {
        const char *code = call->operands.at[i], *text = dt_explain(number_of(code));
        if (!text) return out_error(call->out, not_explained(call, code));
        if (i) out_text(call->out, "\n");
        out_page(call->out, text);
    }
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_explain = {
    .name = "explain",
    .group = "Check",
    .line = "explain an error and what to do about it",
    .operands = "DTnnn...",
    .examples = "  dtrain explain DT017\n  dtrain explain 17\n",
    .options = options,
    .size = sizeof(struct explain),
    .run = run,
};
