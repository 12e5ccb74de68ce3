/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses libhdf5's C interface. The functions used here are the same in all versions from 1.10 on.
 * Every array below the root that is a weight is read: floats of more than 4 bytes as float64,
 * other floats as float32, integers as int64. Links to other files are not followed, since this
 * process cannot open files.
 */
#include "format/hdf5.h"

#include <dlfcn.h>
#include <string.h>

#include "base/library.h"

/* ---- the library ---- */

typedef int64_t hid;
/* The layout of the struct H5G_info_t of libhdf5, which dtrain does not include. */
typedef struct group_info {
    int storage_type;
    uint64_t n_links;
    int64_t max_order;
    bool mounted;
} group_info;

enum { GROUP = 2, DATASET = 5 }; /* Values of the enum H5I_type_t of libhdf5. */
/* Values of the enum H5T_class_t of libhdf5. */
enum { CLASS_INTEGER = 0, CLASS_FLOAT = 1, CLASS_STRING = 3 };

/* The functions of libhdf5: name, result, arguments. */
#define FUNCTIONS(X)                                                                               \
    X(H5open, int, (void))                                                                         \
    X(H5Eset_auto2, int, (hid, void *, void *))                                                    \
    X(H5Pcreate, hid, (hid))                                                                       \
    X(H5Pset_fapl_core, int, (hid, size_t, unsigned))                                              \
    X(H5Pset_file_image, int, (hid, void *, size_t))                                               \
    X(H5Fopen, hid, (const char *, unsigned, hid))                                                 \
    X(H5Oopen, hid, (hid, const char *, hid))                                                      \
    X(H5Oclose, int, (hid))                                                                        \
    X(H5Iget_type, int, (hid))                                                                     \
    X(H5Gget_info, int, (hid, group_info *))                                                       \
    X(H5Lget_name_by_idx, ssize_t, (hid, const char *, int, int, uint64_t, char *, size_t, hid))   \
    X(H5Dget_space, hid, (hid))                                                                    \
    X(H5Dget_type, hid, (hid))                                                                     \
    X(H5Dread, int, (hid, hid, hid, hid, hid, void *))                                             \
    X(H5Sget_simple_extent_ndims, int, (hid))                                                      \
    X(H5Sget_simple_extent_dims, int, (hid, uint64_t *, uint64_t *))                               \
    X(H5Sclose, int, (hid))                                                                        \
    X(H5Tget_class, int, (hid))                                                                    \
    X(H5Tget_size, size_t, (hid))                                                                  \
    X(H5Tis_variable_str, int, (hid))                                                              \
    X(H5Tclose, int, (hid))                                                                        \
    X(H5Aexists, int, (hid, const char *))                                                         \
    X(H5Aopen, hid, (hid, const char *, hid))                                                      \
    X(H5Aget_type, hid, (hid))                                                                     \
    X(H5Aread, int, (hid, hid, void *))                                                            \
    X(H5Aclose, int, (hid))

typedef struct library {
#define MEMBER(name, result, arguments) result(*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
    hid native_float, native_double, native_int64, file_access;
} library;

static const char *const names[] = {"libhdf5_serial.so.103",
                                    "libhdf5.so.320",
                                    "libhdf5.so.310",
                                    "libhdf5.so.200",
                                    "libhdf5.so.103",
                                    "libhdf5.so",
                                    NULL};

static dt_status *load(library *l) {
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
#define ROW(name, result, arguments) {#name, offsetof(library, name)},
        FUNCTIONS(ROW)
#undef ROW
    };
    void *handle = NULL;
    const char *missing = NULL;
    DT_TRY(dt_library_open(&handle, names, RTLD_NOW | RTLD_LOCAL, NULL));
    if (!handle)
        return dt_suggest(
            dt_fail(DT_E_PLUGIN, NULL, "libhdf5, which reads Keras' weights, is not installed"),
            "install libhdf5-103-1 (Debian), libhdf5-103-1t64 (Ubuntu) or hdf5 "
            "(Fedora), or save the weights as .npz: "
            "docs/coming-from-keras.md#weights");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = dlsym(handle, rows[i].name);
        if (!found) missing = rows[i].name;
        memcpy((char *)l + rows[i].offset, &found, sizeof found);
    }
    const hid *float_ = dlsym(handle, "H5T_NATIVE_FLOAT_g"),
              *double_ = dlsym(handle, "H5T_NATIVE_DOUBLE_g"),
              *int64_ = dlsym(handle, "H5T_NATIVE_INT64_g"),
              *access = dlsym(handle, "H5P_CLS_FILE_ACCESS_ID_g");
    if (missing || !float_ || !double_ || !int64_ || !access || l->H5open() < 0)
        return dt_fail(DT_E_PLUGIN, NULL, "libhdf5 is of another version: it lacks %s",
                       missing ? missing : "types of memory");
    l->native_float = *float_;
    l->native_double = *double_;
    l->native_int64 = *int64_;
    l->file_access = *access;
    /* Switches libhdf5's own error messages off, since errors are reported here. */
    l->H5Eset_auto2(0, NULL, NULL);
    return NULL;
}

/* ---- walking through the groups ---- */

enum { MOST_ARRAYS = 100000, LONGEST_ATTRIBUTE = 1024 };

typedef struct walk {
    library lib;
    dt_arena *arena;
    dt_hdf5_place at;
    int n, cap, seen;
    dt_named_view *array;
} walk;

static dt_status *damaged(const walk *w, const char *what) {
    dt_local_str path = {0};
    for (int i = 0; i < w->at.n; i++) dt_str_printf(&path, "/%s", w->at.key[i]);
    return dt_fail(DT_E_CHECKPOINT, NULL, "'%.300s': %s", dt_str_text(&path), what);
}

/* Finds the type of an array in memory, for libhdf5 and for dtrain. */
static dt_status *read_type(const walk *w, hid set, hid *memory, dt_type *type) {
    const library *l = &w->lib;
    const hid space = l->H5Dget_space(set), stored = l->H5Dget_type(set);
    const int rank = l->H5Sget_simple_extent_ndims(space), kind = l->H5Tget_class(stored);
    const bool wide = kind == CLASS_FLOAT && l->H5Tget_size(stored) > 4;
    uint64_t dim[DT_MAX_RANK] = {0};
    const bool fits =
        rank >= 0 && rank <= DT_MAX_RANK && l->H5Sget_simple_extent_dims(space, dim, NULL) == rank;
    l->H5Tclose(stored);
    l->H5Sclose(space);
    if (kind != CLASS_FLOAT && kind != CLASS_INTEGER)
        return damaged(w, "is neither of floats nor of integers");
    if (!fits) return damaged(w, "has more dimensions than are possible");
    *memory = kind == CLASS_INTEGER ? l->native_int64 : wide ? l->native_double : l->native_float;
    type->dtype = kind == CLASS_INTEGER ? DT_INT64 : wide ? DT_FLOAT64 : DT_FLOAT32;
    type->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (dim[i] > INT32_MAX) return damaged(w, "is too large");
        type->dim[i] = (int64_t)dim[i];
    }
    return dt_type_bytes(type) < INT64_MAX ? NULL : damaged(w, "is too large");
}

static dt_status *read_array(walk *w, hid set, int count) {
    dt_named_view a = {0};
    hid memory = 0;
    DT_TRY(dt_hdf5_name(&w->at, count, w->arena, &a.name));
    if (!a.name) return NULL;
    DT_TRY(read_type(w, set, &memory, &a.type));
    a.data = dt_try_alloc((size_t)dt_type_bytes(&a.type) + 1);
    if (!a.data) return damaged(w, "is larger than the limit of memory");
    if (w->lib.H5Dread(set, memory, 0, 0, 0, a.data) < 0) return damaged(w, "cannot be read");
    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 64;
        w->array = dt_realloc(w->array, (size_t)w->cap * sizeof *w->array);
    }
    w->array[w->n++] = a;
    return NULL;
}

/* Copies the text attribute `name` of a group to out[DT_HDF5_NAME]. Leaves `out` unchanged if the
 * group has no such attribute, or if the text is empty or does not fit. */
static void read_name(const library *l, hid group, char *out) {
    char *text = NULL, fixed[LONGEST_ATTRIBUTE + 1] = {0};
    if (l->H5Aexists(group, "name") <= 0) return;
    const hid attribute = l->H5Aopen(group, "name", 0), type = l->H5Aget_type(attribute);
    if (l->H5Tget_class(type) == CLASS_STRING) {
        if (l->H5Tis_variable_str(type) > 0) l->H5Aread(attribute, type, &text);
        else if (l->H5Tget_size(type) <= LONGEST_ATTRIBUTE &&
                 l->H5Aread(attribute, type, fixed) >= 0)
            text = fixed;
    }
    if (text && *text && strlen(text) < DT_HDF5_NAME) memcpy(out, text, strlen(text) + 1);
    l->H5Tclose(type);
    l->H5Aclose(attribute);
}

static dt_status *read_group(walk *w, hid group);

static dt_status *read_link(walk *w, hid object, int count) {
    const library *l = &w->lib;
    const int kind = l->H5Iget_type(object);
    const char *key = w->at.key[w->at.n - 1];
    if (kind == DATASET) return read_array(w, object, count);
    if (kind != GROUP) return damaged(w, "is neither a group nor an array");
    if (w->at.n > 1 && strcmp(key, "vars") == 0) read_name(l, object, w->at.name[w->at.n - 2]);
    return read_group(w, object);
}

static dt_status *read_child(walk *w, hid group, uint64_t i, int count) {
    const library *l = &w->lib;
    if (w->at.n == DT_HDF5_DEPTH || ++w->seen > MOST_ARRAYS)
        return damaged(w, "has more groups in one another, or more objects, than are possible");
    char *key = w->at.key[w->at.n], *name = w->at.name[w->at.n];
    const ssize_t n = l->H5Lget_name_by_idx(group, ".", 0, 0, i, key, DT_HDF5_NAME, 0);
    if (n <= 0 || n >= DT_HDF5_NAME) return damaged(w, "the name of a link cannot be read");
    memcpy(name, key, DT_HDF5_NAME);
    const hid object = l->H5Oopen(group, key, 0);
    w->at.n++;
    dt_status *bad = object < 0 ? damaged(w, "cannot be opened") : read_link(w, object, count);
    if (object >= 0) l->H5Oclose(object);
    w->at.n--;
    return bad;
}

/* Reads the arrays of a group and of the groups in it. Visits `vars` before other members of the
 * group, because it holds the group's name. */
static dt_status *read_group(walk *w, hid group) {
    const library *l = &w->lib;
    group_info info = {0};
    char key[DT_HDF5_NAME];
    if (l->H5Gget_info(group, &info) < 0) return damaged(w, "cannot be read");
    if (info.n_links > MOST_ARRAYS) return damaged(w, "has too many links");
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < info.n_links; i++) {
            const bool is = l->H5Lget_name_by_idx(group, ".", 0, 0, i, key, sizeof key, 0) > 0 &&
                            strcmp(key, "vars") == 0;
            if (is == (pass == 0)) DT_TRY(read_child(w, group, i, (int)info.n_links));
        }
    return NULL;
}

/* Passes the file to libhdf5 as an image in memory, so that libhdf5 does not open a file. */
static hid open_image(const library *l, void *bytes, size_t n) {
    const hid access = l->H5Pcreate(l->file_access);
    if (l->H5Pset_fapl_core(access, 1 << 20, 0) < 0 || l->H5Pset_file_image(access, bytes, n) < 0)
        return -1;
    return l->H5Fopen("weights", 0, access);
}

dt_status *dt_hdf5_arrays(int fd, const json_t *model, dt_status *(*limit)(int64_t), int64_t size,
                          dt_arena *arena, dt_arrays *out) {
    walk w = {.arena = arena, .at.model = model};
    DT_TRY(load(&w.lib));
    DT_TRY(limit(size));
    void *bytes = dt_try_alloc((size_t)size + 1);
    if (!bytes) return dt_fail(DT_E_CHECKPOINT, NULL, "is larger than the limit of memory");
    DT_TRY(dt_file_pread(fd, "the file", bytes, (size_t)size, 0));
    const hid file = open_image(&w.lib, bytes, (size_t)size);
    if (file < 0) return dt_fail(DT_E_CHECKPOINT, NULL, "is no HDF5 file that libhdf5 can read");
    DT_TRY(read_group(&w, file));
    *out = (dt_arrays){w.n, w.array};
    return NULL;
}
