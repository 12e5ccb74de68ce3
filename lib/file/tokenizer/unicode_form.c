/* SPDX-License-Identifier: Apache-2.0 */
/* NFC, NFD, NFKC and NFKD, Unicode's normalization forms (UAX 15), by libunistring. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "file/tokenizer/tokenizer_impl.h"

typedef struct library {
    /* uninorm.h's u8_normalize: the result is allocated if it does not fit into `to` */
    uint8_t *(*normalize)(const void *form, const uint8_t *text, size_t n, uint8_t *to,
                          size_t *size);
    /* addresses of the variables that represent the forms */
    const void *nfc, *nfd, *nfkc, *nfkd;
} library;

typedef struct form {
    library lib;
    const void *of;
} form;

static dt_status *apply(const void *made, const char *text, size_t n, dt_str *out) {
    const form *x = made;
    size_t size = 0;
    if (n == 0) return NULL;
    uint8_t *y = x->lib.normalize(x->of, (const uint8_t *)text, n, NULL, &size);
    if (!y) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory to normalize %zu bytes", n);
    dt_str_add(out, (const char *)y, size);
    free(y);
    return NULL;
}

static dt_status *load(library *l) {
    static const char *const names[] = {"libunistring.so.5", "libunistring.so.2", "libunistring.so",
                                        NULL};
    static const dt_library_function rows[] = {{"u8_normalize", offsetof(library, normalize)},
                                               {"uninorm_nfc", offsetof(library, nfc)},
                                               {"uninorm_nfd", offsetof(library, nfd)},
                                               {"uninorm_nfkc", offsetof(library, nfkc)},
                                               {"uninorm_nfkd", offsetof(library, nfkd)}};
    void *handle = NULL;
    DT_TRY(dt_library_open(&handle, names, RTLD_NOW | RTLD_LOCAL, NULL));
    if (!handle)
        return dt_suggest(dt_fail(DT_E_PLUGIN, NULL,
                                  "libunistring, which normalizes Unicode text, is not installed"),
                          "install libunistring2 or libunistring5 (Debian, Ubuntu)");
    const char *missing = dt_library_bind(handle, rows, sizeof rows / sizeof *rows, l);
    return missing ? dt_fail(DT_E_PLUGIN, NULL, "libunistring is of another version: it lacks %s",
                             missing)
                   : NULL;
}

dt_status *dt_step_of_form(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                           dt_normalizer_step *out) {
    static const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {0}};
    form *x = dt_arena_new(r->arena, form);
    *out = (dt_normalizer_step){apply, x};
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(load(&x->lib));
    x->of = strcmp(type, "NFC") == 0    ? x->lib.nfc
            : strcmp(type, "NFD") == 0  ? x->lib.nfd
            : strcmp(type, "NFKC") == 0 ? x->lib.nfkc
                                        : x->lib.nfkd;
    return NULL;
}
