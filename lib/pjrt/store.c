/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes that run one program find each other: the plug-in asks for keys and values, and
 * whoever opens the client has a store of them. A plug-in frees a value through the function that
 * comes with it, and makes its own error objects.
 */
#include <stdlib.h>
#include <string.h>

#include "pjrt/options.h"

static void free_value(char *value) { free(value); }

/* The plug-in's error with our words; the status is freed. */
static void *failed(dt_pjrt_make_error *fail, dt_status *s) {
    const char *text = dt_status_text(s);
    void *error = (*fail)(DT_PJRT_NOT_FOUND, text, strlen(text));
    dt_status_free(s);
    return error;
}

static void *get(dt_pjrt_kv_get *a) {
    const dt_pjrt_store *store = a->user;
    dt_str value = {0};
    dt_status *s = store->get(store->user, a->key, a->key_size, a->timeout_ms, &value);

    if (s) {
        dt_str_release(&value);
        return failed(a->fail, s);
    }
    a->value_size = value.size;
    a->value = dt_str_take(&value);
    a->free_value = free_value;
    return NULL;
}

static void *put(dt_pjrt_kv_put *a) {
    const dt_pjrt_store *store = a->user;
    dt_status *s = store->put(store->user, a->key, a->key_size, a->value, a->value_size);
    return s ? failed(a->fail, s) : NULL;
}

void dt_pjrt_share(dt_pjrt_client_create *a, const dt_pjrt_store *store) {
    a->get = get;
    a->put = put;
    a->get_user = a->put_user = (void *)store;
}
