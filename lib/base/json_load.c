/* SPDX-License-Identifier: Apache-2.0 */
/* See json_load.h. jansson's allocation functions are set once for the whole program, unless the
 * caller has set others. */
#include "base/json_load.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"

/* jansson must not see a failed allocation: it would report that the text is not JSON, or abort. */
static void *allocate(size_t n) {
    void *p = malloc(n);
    return p || n == 0 ? p : dt_alloc(n);
}

static void set_functions(void) {
    json_malloc_t from;
    json_free_t to;
    json_get_alloc_funcs(&from, &to);
    if (from == malloc && to == free) json_set_alloc_funcs(allocate, free);
}

json_t *dt_json_load(const char *text, size_t n, size_t flags, json_error_t *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_functions);
    return json_loadb(text, n, flags, error);
}
