/* Variables: what outlives a step. Their memory is theirs from the start, so that running out of it is found when a model is made. */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

dt_status *dt_variable_create(dt_variable **out, const char *path, const dt_type *type, bool trainable)
{
    assert(!dt_type_has_batch(type));
    int64_t bytes = dt_type_bytes(type);
    void *data = bytes == INT64_MAX ? NULL : dt_try_alloc((size_t)(bytes > 0 ? bytes : 1));
    if (!data) {
        dt_str text = { 0 };
        dt_type_print(type, &text);
        dt_status *s = dt_fail(DT_E_NO_MEMORY, NULL, "no memory for the variable '%s' of type %s", path, dt_str_text(&text));
        dt_str_release(&text);
        return s;
    }
    memset(data, 0, (size_t)bytes);
    dt_variable *v = dt_alloc(sizeof *v);
    *v = (dt_variable){ .refs = 1, .path = dt_strdup(path), .type = *type, .trainable = trainable, .data = data };
    *out = v;
    return NULL;
}

void dt_variable_unref(dt_variable *v)
{
    if (!v || --v->refs > 0)
        return;
    free(v->data);
    free(v->path);
    free(v);
}
