/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain config schema: prints the JSON Schema of job files, for editors and other programs. */
#include "verb.h"

struct config_schema {
    struct common common;
};

static int run(const struct call *call) {
    char *text = NULL;
    dt_status *s = call->operands.n ? usage_error(call, "no operands expected, got '%s'",
                                                  cut_word(call->operands.at[0]).text)
                                    : dt_job_schema(&text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_config_schema = {
    .name = "config schema",
    .group = "Inspect",
    .line = "print a JSON Schema of job files, for editors",
    .operands = "",
    .examples = "  dtrain config schema > dtrain.schema.json\n",
    .more = "JSON Schema 2020-12, generated from the tables that dtrain reads job files with. A "
            "job that begins with\n"
            "    # yaml-language-server: $schema=dtrain.schema.json\n"
            "gets completion, explanations and checks in editors that use the YAML language server "
            "(VS Code, Neovim, Emacs, ...).\n",
    .options = options,
    .size = sizeof(struct config_schema),
    .run = run,
};
