/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain report: writes one HTML page about runs. */
#include <string.h>

#include "base/arena.h"
#include "verb.h"

struct report {
    struct common common;
    const char *output, *metric;
};

static dt_status *write_page(const struct call *call, char **text) {
    const struct report *my = call->settings;
    if (call->operands.n == 0)
        return usage_error(call, "run missing: the directory that output.dir names");
    if (my->output && !*my->output)
        return usage_error(call, "-o: expected a file, or - for standard output");
    return dt_run_report(&(dt_run_report_request){.runs = call->operands.at,
                                                  .n_runs = call->operands.n,
                                                  .output = my->output,
                                                  .metric = my->metric},
                         text);
}

static int run(const struct call *call) {
    const struct report *my = call->settings;
    DT_LOCAL char *text = NULL;
    dt_status *s = write_page(call, &text);
    if (!s && my->output && strcmp(my->output, "-") == 0) out_text(call->out, text);
    else if (!s && !call->out->quiet) out_field(call->out, "report", "%s", text);
    return out_error(call->out, s);
}

static const struct option options[] = {
    PATH(struct report, output, "output", "FILE",
         "output file, or - for standard output; default: report.html in the first run",
         .letter = 'o'),
    TEXT(struct report, metric, "metric", "NAME",
         "mark the run with the best value of this metric; default: val_loss, or the first whose "
         "direction is known"),
    OPTIONS_END};
const struct verb verb_report = {
    .name = "report",
    .group = "Inspect",
    .line = "write an HTML page about a run, or a comparison of several",
    .operands = "RUN...",
    .examples = "  dtrain report runs/quickstart                     runs/quickstart/report.html\n"
                "  dtrain report runs/a runs/b runs/c -o ab.html     curves in one chart, "
                "differences between jobs\n",
    .more = "The page is one file and needs no network. It shows the outcome, curves, learning "
            "rate, times, memory,\n"
            "placement, the job with the origin of its values, hashes, the machine, checkpoints "
            "and warnings; where scripts\n"
            "are turned off, a table of metrics. A run that is still training, or was killed, is "
            "shown as far as it got. Exit\n"
            "codes: 66 no such directory or not a run, 78 no run has the metric, 73 and 74 the "
            "page cannot be written.\n",
    .options = options,
    .size = sizeof(struct report),
    .run = run,
};
