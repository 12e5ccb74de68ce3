/* SPDX-License-Identifier: Apache-2.0 */
/* Words of pipelines at work: their arguments (words.c) and the functions of elements among them
 * (words_map.c). */
#ifndef TESTS_CONFORMANCE_WORDS_H
#define TESTS_CONFORMANCE_WORDS_H

#include "pipelines.h"

enum { MOST_PARTS = 8 };

/* A word at work: its call, NULL where the word came without brackets. */
typedef struct call {
    words *w;
    const char *name;
    const py *p;
} call;

/* An unknown wording of that word. */
dt_status *words_broken(words *w, const char *name, const char *why);
const py *words_argument(const call *c, int i, const char *keyword);
/* A number; `otherwise` when it is not given, or None. False: a difference, or an error in *s. */
bool words_integer(const call *c, int i, const char *keyword, int64_t otherwise, int64_t *out,
                   dt_status **s);
/* Kept as long as the words. */
void *words_keep(words *w, void *p);
dt_status *words_read_files(words *w, int64_t cycle, dt_dataset **d);
/* A chain of calls, applied to *d. */
dt_status *words_chain(words *w, const py *p, dt_dataset **d);

dt_status *words_map(const call *c, dt_dataset **d);
dt_status *words_filter(const call *c, dt_dataset **d);
/* interleave and flat_map */
dt_status *words_interleave(const call *c, dt_dataset **d);

#endif
