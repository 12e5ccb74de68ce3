/* SPDX-License-Identifier: Apache-2.0 */
/* What a job says of its data, of every format, and of examples that are held in memory: read as a
 * mapping; no file is looked at. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "data/data.h"
#include "fuzz.h"

static dt_status *hold(const char *format, ...) {
    const dt_type type = dt_type_of(DT_FLOAT32, 1, (const int64_t[]){3});
    dt_example_spec spec = dt_spec_single("x", &type);
    dt_example x = dt_example_make(1);
    dt_dataset *d = NULL;
    va_list args;
    dt_status *s = dt_tensor_new(&x.tensor[0], &type);
    assert(!s);
    for (int i = 0; i < 3; i++) ((float *)x.tensor[0]->data)[i] = (float)(i + 1);
    va_start(args, format);
    s = dt_dataset_hold(&d, &spec, &x, format, args);
    va_end(args);
    dt_spec_release(&spec);
    dt_dataset_unref(d);
    return s;
}

FUZZ_TARGET(data) {
    const char *text = fuzz_string(data, size);
    dt_arena *arena = dt_arena_create();
    dt_source source = {"dataset", text, strlen(text)};
    dt_dataset_spec spec;
    dt_tree *tree;
    dt_status *s = dt_fragment_parse(arena, &source, &tree);
    if (!s) s = dt_dataset_read(arena, tree, "", 1, &spec);
    fuzz_done(s);
    fuzz_done(hold("%s", text));
    dt_arena_destroy(arena);
    return 0;
}
