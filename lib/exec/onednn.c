/* SPDX-License-Identifier: Apache-2.0 */
/* Loads oneDNN, and describes arrays to it (onednn.h). */
#include "exec/onednn.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/library.h"
#include "exec/instructions.h"

enum { CPU = 1, IN_ORDER = 1, SCRATCHPAD_OF_USER = 1 };

static void *symbol(void *library, const char *name, bool *missing) {
    void *p = dlsym(library, name);
    *missing |= !p;
    return p;
}

/* ISO C has no conversion from object pointers to function pointers. POSIX allows it by copying the
 * bytes. */
#define BIND(member, name)                                                                         \
    (p = symbol(a->library, name, &missing), memcpy(&a->member, &p, sizeof p))

static bool bind_common(dt_dnnl_api *a) {
    bool missing = false;
    void *p;

    BIND(version, "dnnl_version"), BIND(engine_create, "dnnl_engine_create"),
        BIND(engine_destroy, "dnnl_engine_destroy");
    BIND(stream_create, "dnnl_stream_create"), BIND(stream_destroy, "dnnl_stream_destroy");
    BIND(attr_create, "dnnl_primitive_attr_create"),
        BIND(attr_destroy, "dnnl_primitive_attr_destroy");
    BIND(attr_post_ops, "dnnl_primitive_attr_set_post_ops");
    BIND(post_ops_create, "dnnl_post_ops_create"), BIND(post_ops_destroy, "dnnl_post_ops_destroy");
    BIND(attr_scratchpad, "dnnl_primitive_attr_set_scratchpad_mode");
    BIND(memory_create, "dnnl_memory_create"), BIND(memory_set, "dnnl_memory_set_data_handle"),
        BIND(memory_destroy, "dnnl_memory_destroy");
    BIND(desc_size, "dnnl_memory_desc_get_size"), BIND(query_desc, "dnnl_primitive_desc_query_md"),
        BIND(query, "dnnl_primitive_desc_query");
    BIND(reorder_desc, "dnnl_reorder_primitive_desc_create");
    BIND(primitive_create, "dnnl_primitive_create"),
        BIND(primitive_destroy, "dnnl_primitive_destroy");
    BIND(primitive_desc_destroy, "dnnl_primitive_desc_destroy"),
        BIND(execute, "dnnl_primitive_execute");
    return !missing;
}

static bool bind_2(dt_dnnl_api *a) {
    bool missing = false;
    void *p;

    BIND(desc_strides_2, "dnnl_memory_desc_init_by_strides"),
        BIND(desc_tag_2, "dnnl_memory_desc_init_by_tag");
    BIND(matmul_desc_2, "dnnl_matmul_desc_init"),
        BIND(primitive_desc_2, "dnnl_primitive_desc_create");
    BIND(append_sum_2, "dnnl_post_ops_append_sum");
    BIND(forward_2, "dnnl_dilated_convolution_forward_desc_init"),
        BIND(data_2, "dnnl_dilated_convolution_backward_data_desc_init");
    BIND(weights_2, "dnnl_dilated_convolution_backward_weights_desc_init");
    return !missing;
}

static bool bind_3(dt_dnnl_api *a) {
    bool missing = false;
    void *p;

    BIND(desc_strides_3, "dnnl_memory_desc_create_with_strides"),
        BIND(desc_tag_3, "dnnl_memory_desc_create_with_tag");
    BIND(append_sum_3, "dnnl_post_ops_append_sum");
    BIND(desc_destroy_3, "dnnl_memory_desc_destroy"),
        BIND(matmul_desc_3, "dnnl_matmul_primitive_desc_create");
    BIND(forward_3, "dnnl_convolution_forward_primitive_desc_create"),
        BIND(data_3, "dnnl_convolution_backward_data_primitive_desc_create");
    BIND(weights_3, "dnnl_convolution_backward_weights_primitive_desc_create");
    return !missing;
}

static bool bind_all(dt_dnnl_api *a) {
    bool none = false;
    /* finds the function of the OpenMP library that oneDNN was built with */
    void *p = symbol(a->library, "omp_set_num_threads", &none);

    memcpy(&a->omp_set_num_threads, &p, sizeof p);
    p = symbol(a->library, "dnnl_set_max_cpu_isa", &none);
    memcpy(&a->set_max_cpu_isa, &p, sizeof p);
    return bind_common(a) && (a->version()[0] >= 3 ? bind_3(a) : bind_2(a));
}

/* Installs a handler for failures of C++'s `new`. It ends the program with dtrain's message and
 * exit code, instead of an uncaught exception. A handler that the program has set is kept. */
static dt_status *watch_memory(void) {
    static const char *const names[] = {"libstdc++.so.6", NULL};
    bool missing = false;
    typedef void handler(void);
    handler *(*get)(void), *(*set)(handler *);
    void *library;
    DT_TRY(dt_library_open(&library, names, RTLD_NOW | RTLD_LOCAL, NULL));
    if (!library) return NULL;
    void *p = symbol(library, "_ZSt15get_new_handlerv", &missing),
         *q = symbol(library, "_ZSt15set_new_handlerPFvvE", &missing);
    memcpy(&get, &p, sizeof p);
    memcpy(&set, &q, sizeof q);
    if (!missing && !get()) (void)set(dt_out_of_memory);
    return NULL;
}

static dt_status *open_any(void **library) {
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", NULL};
    DT_TRY(watch_memory());
    return dt_library_open(library, names, RTLD_NOW | RTLD_LOCAL, NULL);
}

/* Limits oneDNN's instruction set. This is only possible before its first primitive. Later calls
 * fail, but the limit is then in effect already, since the environment does not change. */
static void limit(const dt_dnnl_api *a) {
    const dt_instructions *most = dt_instructions_limit();
    if (most && a->set_max_cpu_isa) (void)a->set_max_cpu_isa(most->onednn);
}

/* Converts a status code of oneDNN to an error: 0 is success, 1 means that memory ran out. */
static dt_status *explain(int code) {
    return code == 0   ? NULL
           : code == 1 ? dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for oneDNN")
                       : dt_fail(DT_E_KERNELS, NULL,
                                 "oneDNN is installed, but does not start (status %d)", code);
}

static dt_status *start(dt_dnnl_api *a) {
    DT_TRY(open_any(&a->library));
    if (!a->library)
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN (libdnnl.so.2 or .3) is not installed");
    if (!bind_all(a))
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN is installed, but lacks required functions");
    limit(a);
    DT_TRY(explain(a->engine_create(&a->engine, CPU, 0)));
    DT_TRY(explain(a->stream_create(&a->stream, a->engine, IN_ORDER)));
    DT_TRY(explain(a->attr_create(&a->own_scratchpad)));
    return explain(a->attr_scratchpad(a->own_scratchpad, SCRATCHPAD_OF_USER));
}

dt_status *dt_dnnl_open(dt_dnnl_api **out) {
    dt_dnnl_api *a = dt_alloc(sizeof *a);
    dt_status *s = start(a);

    if (s) free(a);
    else *out = a;
    return s;
}

void dt_dnnl_close(dt_dnnl_api *a) {
    a->attr_destroy(a->own_scratchpad);
    a->stream_destroy(a->stream);
    a->engine_destroy(a->engine);
    free(a); /* the library is not unloaded, because its threads still use it */
}

/* ---- descriptions of arrays ---- */

bool dt_dnnl_describe(const dt_dnnl_api *a, int type, int rank, const int64_t *dims,
                      const int64_t *strides, dt_dnnl_desc *out) {
    memset(out, 0, sizeof *out);
    if (a->desc_strides_2)
        return !(strides ? a->desc_strides_2(out->bytes, rank, dims, type, strides)
                         : a->desc_tag_2(out->bytes, rank, dims, type, DT_DNNL_ANY));
    return !(strides ? a->desc_strides_3(&out->h, rank, dims, type, strides)
                     : a->desc_tag_3(&out->h, rank, dims, type, DT_DNNL_ANY));
}

const void *dt_dnnl_pointer(const dt_dnnl_api *a, const dt_dnnl_desc *d) {
    return a->desc_strides_2 ? (const void *)d->bytes : d->h;
}

void dt_dnnl_forget(const dt_dnnl_api *a, dt_dnnl_desc *d) {
    if (a->desc_destroy_3 && d->h) a->desc_destroy_3(d->h);
    memset(d, 0, sizeof *d);
}
