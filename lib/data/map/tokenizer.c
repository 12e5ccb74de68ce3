/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer: converts a text to the numbers of its tokens, as a file tokenizer.json says
 * (file/tokenizer/tokenizer.h). The output has max_length numbers. */
#include <stdlib.h>

#include "base/file.h"
#include "data/map/step.h"
#include "file/tokenizer/tokenizer.h"

struct tokenizer {
    const char *path;
    int64_t max_length;
};

static const dt_field fields[] = {
    DT_TEXT(struct tokenizer, path, .required = true,
            .help = "path of a tokenizer.json, of the Python package tokenizers"),
    DT_INT(struct tokenizer, max_length, .min = 1, .max = 1 << 20, .preset = "512",
           .help = "length of the output; longer texts are truncated, shorter ones padded"),
    DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct tokenizer *a = s->args;
    const dt_tokenizer *t;
    char *path = dt_path_join(s->directory, a->path);
    dt_status *bad = dt_at(dt_tokenizer_read(arena, path, &t), s->at);
    free(path);
    if (bad) return bad;
    if (a->max_length < dt_tokenizer_ends(t))
        return dt_fail(DT_E_DATASET_KEYS, s->at,
                       "max_length must be at least %lld, the tokens that %s adds to each text",
                       (long long)dt_tokenizer_ends(t), a->path);
    s->made = t;
    s->numbers = dt_tokenizer_size(t);
    s->out = dt_type_of(DT_INT32, 1, &a->max_length);
    return NULL;
}

static dt_status *attempt(const dt_map_stage *s, const void *in, void *out) {
    const struct tokenizer *a = s->args;
    return dt_at(dt_tokenizer_fill(s->made, in, a->max_length, out), s->at);
}

static const char *file(const void *args) { return ((const struct tokenizer *)args)->path; }

const dt_map_step dt_map_tokenizer = {
    .kind = {"tokenizer", "token numbers of a text, by a tokenizer.json", fields,
             sizeof(struct tokenizer), NULL},
    .brief = {"path"},
    .takes = DT_TAKES_TEXT,
    .keeps_numbers = true,
    .infer = infer,
    .attempt = attempt,
    .file = file,
};
