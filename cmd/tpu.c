/* SPDX-License-Identifier: Apache-2.0 */
/* See tpu.h. */
#include "tpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

dt_status *tpu_check(const char *tpu) {
    DT_LOCAL char *text = NULL;
    return tpu ? dt_topology_text(&(dt_topology_request){.tpu = tpu, .json = true}, &text) : NULL;
}

static void add_overrides(struct tpu_job *j, const char *tpu, const char *more) {
    int n = j->source.n_overrides;
    if (n) memcpy(j->word, j->source.overrides, (size_t)n * sizeof *j->word);
    if (tpu) {
        snprintf(j->slice, sizeof j->slice, "strategy.cluster_resolver.tpu=%s%s",
                 strncmp(tpu, "sim:", 4) == 0 || !*tpu ? "" : "sim:", tpu);
        j->word[n++] = "strategy.type=tpu";
        j->word[n++] = j->slice;
    }
    if (more) j->word[n++] = more;
    j->source.overrides = j->word;
    j->source.n_overrides = n;
}

dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out) {
    *out = (struct tpu_job){0};
    dt_status *s = take_job(call, place, &out->source);
    if (s) return s;
    out->word = malloc(((size_t)out->source.n_overrides + 3) * sizeof *out->word);
    if (!out->word) return dt_status_create(ERROR_NO_MEMORY, "no memory for the command line");
    add_overrides(out, tpu, more);
    return NULL;
}

void tpu_release(struct tpu_job *j) { free(j->word); }
