/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain version. */
#include "verb.h"

struct version {
    struct common common;
};

static int run(const struct call *call)
{
    dt_status *s = take_no_operands(call);
    if (s)
        return out_error(call->out, s);
    out_line(call->out, "dtrain %s", dt_version());
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_version = {
    .name = "version",
    .group = "Other",
    .line = "show the version",
    .operands = "",
    .examples = "  dtrain version\n  dtrain --version\n",
    .options = options,
    .size = sizeof(struct version),
    .run = run,
};
