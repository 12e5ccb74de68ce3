/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes HDF5, by the HDF Group's "HDF5 File Format Specification Version 3.0": the oldest
 * superblock, object headers of version 1, groups whose links are messages, arrays in one piece.
 * Writing needs no library, and equal arrays yield equal bytes.
 *
 *     superblock    where the root group's header and the end are
 *     arrays        little-endian, one after the other, aligned to 8 bytes
 *     headers       of each array and group, after those of the objects that it links to
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/protobuf.h"
#include "format/hdf5.h"

enum {
    SUPERBLOCK = 96,
    /* Numbers of the types of header messages in HDF5's specification. */
    DATASPACE = 1,
    LINK_INFO = 2,
    DATATYPE = 3,
    FILL_VALUE = 5,
    LINK = 6,
    LAYOUT = 8,
    GROUP_INFO = 10,
    ATTRIBUTE = 12,
};
static const uint64_t undefined = UINT64_MAX; /* The address that HDF5 uses for "undefined". */

typedef struct file {
    const dt_hdf5_item *const *item; /* the items to write, sorted by path */
    /* [items] address in the file of each item's array; `undefined` for groups and empty arrays */
    const uint64_t *data;
    uint64_t base; /* address in the file of the first object header */
    dt_str headers;
} file;

/* ---- messages ---- */

static void align(dt_str *out) {
    while (out->size % 8) dt_put_little(out, 0, 1);
}

/* The messages of an object's header while they are written. */
typedef struct header {
    int n;
    dt_str text;
} header;

static void put_message(header *h, int type, dt_str *body) {
    align(body);
    dt_put_little(&h->text, (uint64_t)type, 2);
    dt_put_little(&h->text, body->size, 2);
    dt_put_little(&h->text, 0, 4); /* the flags of the message, and reserved bytes */
    dt_str_add(&h->text, body->data, body->size);
    dt_str_release(body);
    h->n++;
}

static void put_dataspace(dt_str *out, const dt_type *type) {
    dt_put_little(out, 1, 1); /* the version of the dataspace message */
    dt_put_little(out, (uint64_t)type->rank, 1);
    dt_put_little(out, 0, 6);
    for (int i = 0; i < type->rank; i++) dt_put_little(out, (uint64_t)type->dim[i], 8);
}

static void put_float(dt_str *out, bool wide) {
    /* Version 1 of the datatype message, class 1 (floating point). */
    dt_put_little(out, 0x11, 1);
    /* the mantissa has an implied leading 1; then the position of the sign bit */
    dt_put_little(out, 0x20 | (wide ? 63 : 31) << 8, 3);
    dt_put_little(out, wide ? 8 : 4, 4);
    /* the position of the number's first bit, and the number of its bits */
    dt_put_little(out, 0, 2);
    dt_put_little(out, wide ? 64 : 32, 2);
    /* the position of the exponent's bits, and their count */
    dt_put_little(out, wide ? 52 : 23, 1);
    dt_put_little(out, wide ? 11 : 8, 1);
    dt_put_little(out, 0, 1); /* the position of the mantissa's bits, and their count */
    dt_put_little(out, wide ? 52 : 23, 1);
    dt_put_little(out, wide ? 1023 : 127, 4); /* the exponent's bias */
}

static void put_attribute(header *h, const char *name, const char *text) {
    const size_t size = strlen(text) + 1;
    dt_str body = {0};
    dt_put_little(&body, 1, 2); /* the version of the attribute message */
    dt_put_little(&body, strlen(name) + 1, 2);
    dt_put_little(&body, 8, 2); /* the sizes of the datatype and of the dataspace */
    dt_put_little(&body, 8, 2);
    dt_str_add(&body, name, strlen(name) + 1);
    align(&body);
    dt_put_little(&body, 0x13, 1); /* version 1 of the datatype message, class 3 (string) */
    dt_put_little(&body, 0x10, 3); /* the string ends with NUL and is UTF-8 */
    dt_put_little(&body, size, 4);
    put_dataspace(&body, &(dt_type){.rank = 0});
    dt_str_add(&body, text, size);
    put_message(h, ATTRIBUTE, &body);
}

static void put_link(header *h, const char *name, size_t n, uint64_t address) {
    dt_str body = {0};
    dt_put_little(&body, 1, 1); /* the version of the link message */
    /* flags: it is a hard link, and the length of its name has 2 bytes */
    dt_put_little(&body, 1, 1);
    dt_put_little(&body, n, 2);
    dt_str_add(&body, name, n);
    dt_put_little(&body, address, 8);
    put_message(h, LINK, &body);
}

/* ---- objects ---- */

/* Adds the object's header to f->headers, releases its text, and returns the address that the
 * header has in the file. */
static uint64_t put_header(file *f, header *h) {
    dt_str *out = &f->headers;
    align(out);
    const uint64_t address = f->base + out->size;
    dt_put_little(out, 1, 2); /* the version of the object header */
    dt_put_little(out, (uint64_t)h->n, 2);
    dt_put_little(out, 1, 4); /* the number of references to the object */
    dt_put_little(out, h->text.size, 8);
    dt_str_add(out, h->text.data, h->text.size);
    dt_str_release(&h->text);
    return address;
}

static uint64_t put_array(file *f, int i) {
    const dt_type *type = &f->item[i]->array->type;
    header h = {0};
    dt_str body = {0};
    put_dataspace(&body, type);
    put_message(&h, DATASPACE, &body);
    put_float(&body, type->dtype == DT_FLOAT64);
    put_message(&h, DATATYPE, &body);
    /* Version 2; space is allocated late; the fill value is set and has 0 bytes. */
    dt_put_little(&body, 0x01020202, 8);
    put_message(&h, FILL_VALUE, &body);
    dt_put_little(&body, 0x0103, 2); /* version 3 of the layout message, contiguous layout */
    dt_put_little(&body, f->data[i], 8);
    dt_put_little(&body, (uint64_t)dt_type_bytes(type), 8);
    put_message(&h, LAYOUT, &body);
    return put_header(f, &h);
}

static void begin_group(header *h) {
    dt_str body = {0};
    dt_put_little(&body, 0, 2); /* the version and the flags of the link info message */
    dt_put_little(&body, undefined, 8);
    dt_put_little(&body, undefined, 8);
    put_message(h, LINK_INFO, &body);
    dt_put_little(&body, 0, 2);
    put_message(h, GROUP_INFO, &body);
}

/* Writes the group of the items [first, end), whose paths have the first `skip` bytes in common,
 * and all that is in it. name: value of the group's attribute `name`; NULL: it gets none. Returns
 * the address of its header. Recursion is bounded by the number of parts of a path. */
static uint64_t put_group(file *f, int first, int end, size_t skip, const char *name) {
    header h = {0};
    begin_group(&h);
    for (int i = first, next; i < end; i = next) {
        const char *rest = f->item[i]->path + skip;
        const size_t n = strcspn(rest, "/");
        next = i + 1;
        while (next < end && strncmp(f->item[next]->path + skip, rest, n) == 0 &&
               f->item[next]->path[skip + n] == '/')
            next++;
        /* A child missing from the list is a group that only occurs in paths. */
        const bool is_item = !rest[n];
        const char *text = is_item ? f->item[i]->name : NULL;
        put_link(&h, rest, n,
                 is_item && f->item[i]->array
                     ? put_array(f, i)
                     : put_group(f, i + is_item, next, skip + n + 1, text));
    }
    if (name) put_attribute(&h, "name", name);
    return put_header(f, &h);
}

/* ---- the file ---- */

static void put_superblock(dt_str *out, uint64_t root, uint64_t end) {
    dt_str_add(out, "\x89HDF\r\n\x1a\n", 8);
    dt_put_little(out, 0, 5);      /* the versions of the superblock and of its parts */
    dt_put_little(out, 0x0808, 3); /* the sizes of addresses and of lengths in bytes */
    dt_put_little(out, 0x00100004, 4);
    dt_put_little(out, 0, 4);
    /* the base address, to which all addresses in the file are relative */
    dt_put_little(out, 0, 8);
    dt_put_little(out, undefined, 8);
    dt_put_little(out, end, 8);
    dt_put_little(out, undefined, 8);
    /* the entry of the root group: offset of its name, address of its header, no cached data */
    dt_put_little(out, 0, 8);
    dt_put_little(out, root, 8);
    for (int i = 0; i < 3; i++) dt_put_little(out, 0, 8);
}

static int by_path(const void *a, const void *b) {
    const dt_hdf5_item *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

static dt_status *check(const dt_hdf5_item *item) {
    /* The longest text that is written, since a message has less than 65,536 bytes. */
    enum { LONGEST = 60000 };
    if (item->name && strlen(item->name) > LONGEST)
        return dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                       "the name '%.40s...' is longer than %d bytes, which HDF5 does not hold",
                       item->name, LONGEST);
    const dt_dtype dtype = item->array ? item->array->type.dtype : DT_FLOAT32;
    if (dtype == DT_FLOAT32 || dtype == DT_FLOAT64) return NULL;
    return dt_fail(DT_E_CHECKPOINT_MODEL, NULL,
                   "'%.200s' is %s; only floats can be written as HDF5", item->path,
                   dt_dtype_name(dtype));
}

static dt_status *put_data(const file *f, int n, const dt_hdf5_sink *to) {
    static const char zeros[8] = {0};
    for (int i = 0; i < n; i++) {
        if (!f->item[i]->array) continue;
        const size_t bytes = (size_t)dt_type_bytes(&f->item[i]->array->type);
        DT_TRY(to->put(to->user, f->item[i]->array->data, bytes));
        DT_TRY(to->put(to->user, zeros, -bytes % 8));
    }
    return NULL;
}

dt_status *dt_hdf5_write(const dt_hdf5_item *item, int n, const dt_hdf5_sink *to) {
    dt_local_arena arena = dt_arena_create();
    const dt_hdf5_item **sorted = dt_arena_array(arena, const dt_hdf5_item *, n + 1);
    uint64_t *data = dt_arena_array(arena, uint64_t, n + 1);
    file f = {.item = sorted, .data = data, .base = SUPERBLOCK};
    dt_local_str first = {0};
    dt_status *bad = NULL;
    for (int i = 0; i < n; i++) dt_status_append(&bad, check(sorted[i] = &item[i]));
    qsort(sorted, (size_t)n, sizeof *sorted, by_path);
    for (int i = 0; i < n; i++) {
        const uint64_t bytes =
            sorted[i]->array ? (uint64_t)dt_type_bytes(&sorted[i]->array->type) : 0;
        data[i] = bytes ? f.base : undefined;
        f.base += (bytes + 7) / 8 * 8;
    }
    const uint64_t root = put_group(&f, 0, n, 0, NULL);
    put_superblock(&first, root, f.base + f.headers.size);
    if (!bad) bad = to->put(to->user, first.data, first.size);
    if (!bad) bad = put_data(&f, n, to);
    if (!bad) bad = to->put(to->user, f.headers.data, f.headers.size);
    dt_str_release(&f.headers);
    return bad;
}
