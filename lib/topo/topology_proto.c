/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies as bytes: the protocol buffer message TopologyProto, in which TensorFlow's hosts report a slice.
 *
 *     field 1  mesh_shape                repeated int32     packed, or one by one
 *     field 2  num_tasks                 int32
 *     field 3  num_tpu_devices_per_task  int32
 *     field 4  device_coordinates        repeated int32     [task][device][4], flat
 *
 * A message is a sequence of fields, each a key (number * 8 + wire type) and a value; unknown fields are skipped.
 * Integers are varints: base 128, low digits first, with the highest bit of a byte set if more follow. Memory is
 * never allocated for counts that the bytes merely claim: every element of a list needs at least one byte.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/list.h"
#include "topo/topo.h"

enum { MESH_SHAPE = 1, TASKS, DEVICES, COORDINATES };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, END_GROUP = 4, FIXED32 = 5 };
enum { DEEPEST_GROUP = 64 };

/* ---- reading ---- */

typedef struct bytes {
    const unsigned char *at, *end;
} bytes;

typedef struct numbers {
    int n, cap;
    int64_t *v;
} numbers;

typedef struct message {
    numbers mesh, coordinates;
    int64_t tasks, devices;
} message;

static bool read_varint(bytes *b, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70 && b->at < b->end; shift += 7) {
        unsigned char c = *b->at++;
        *out |= shift < 64 ? (uint64_t)(c & 127) << shift : 0;
        if (c < 128)
            return true;
    }
    return false;
}

/* int32 fields take the low 32 bits. */
static bool read_int32(bytes *b, int64_t *out)
{
    uint64_t x;
    if (!read_varint(b, &x))
        return false;
    uint32_t low = (uint32_t)x;
    *out = low <= INT32_MAX ? (int64_t)low : (int64_t)low - (INT64_C(1) << 32);
    return true;
}

/* The part of b that a length-delimited field takes. */
static bool read_part(bytes *b, bytes *part)
{
    uint64_t size;
    if (!read_varint(b, &size) || size > (uint64_t)(b->end - b->at))
        return false;
    *part = (bytes){b->at, b->at + size};
    b->at += size;
    return true;
}

static bool skip_bytes(bytes *b, ptrdiff_t n)
{
    bool there = b->end - b->at >= n;
    b->at += there ? n : 0;
    return there;
}

static bool skip_value(bytes *b, uint64_t key, int depth);

/* All fields up to the end of the group of that number. */
static bool skip_group(bytes *b, uint64_t number, int depth)
{
    uint64_t key;
    while (depth < DEEPEST_GROUP && read_varint(b, &key)) {
        if ((key & 7) == END_GROUP)
            return key >> 3 == number;
        if (!skip_value(b, key, depth + 1))
            return false;
    }
    return false;
}

static bool skip_value(bytes *b, uint64_t key, int depth)
{
    uint64_t ignored;
    bytes part;
    switch (key & 7) {
    case VARINT: return read_varint(b, &ignored);
    case FIXED64: return skip_bytes(b, 8);
    case BYTES: return read_part(b, &part);
    case GROUP: return skip_group(b, key >> 3, depth);
    case FIXED32: return skip_bytes(b, 4);
    default: return false;
    }
}

static bool add_number(bytes *b, numbers *out)
{
    if (out->n == INT_MAX)
        return false;
    DT_GROW(out->v, out->cap, out->n + 1);
    return read_int32(b, &out->v[out->n++]);
}

static bool read_list(bytes *b, uint64_t wire, numbers *out)
{
    bytes part;
    if (wire == VARINT)
        return add_number(b, out);
    if (!read_part(b, &part))
        return false;
    while (part.at < part.end)
        if (!add_number(&part, out))
            return false;
    return true;
}

/* A known field in a wire type that it cannot have is skipped like an unknown one. */
static bool read_field(bytes *b, message *m)
{
    uint64_t key;
    if (!read_varint(b, &key) || key >> 3 == 0 || key > UINT32_MAX)
        return false;
    uint64_t number = key >> 3, wire = key & 7;
    if ((number == MESH_SHAPE || number == COORDINATES) && (wire == VARINT || wire == BYTES))
        return read_list(b, wire, number == MESH_SHAPE ? &m->mesh : &m->coordinates);
    if ((number == TASKS || number == DEVICES) && wire == VARINT)
        return read_int32(b, number == TASKS ? &m->tasks : &m->devices);
    return skip_value(b, key, 0);
}

static dt_status *read_message(const void *serialized, size_t size, message *m)
{
    const unsigned char *start = serialized;
    bytes b = {start, size ? start + size : start}; /* no bytes may be NULL */
    while (b.at < b.end) {
        const unsigned char *field = b.at;
        if (!read_field(&b, m))
            return dt_fail(DT_E_TOPOLOGY_BYTES, NULL, "not a TopologyProto: the field at byte %lld of %lld is malformed or cut off",
                           (long long)(field - start), (long long)size);
    }
    return NULL;
}

/* ---- what it says ---- */

static dt_status *bad_list(const char *what, const numbers *got, const char *suffix)
{
    dt_str text = {0};
    dt_list_print(&text, got->v, got->n < 64 ? got->n : 64);
    dt_status *s = dt_fail(DT_E_TOPOLOGY, NULL, "%s, got %s%s", what, dt_str_text(&text), suffix);
    dt_str_release(&text);
    return s;
}

static dt_status *check_count(const message *m)
{
    dt_str mesh = {0};
    if (m->tasks < 0)
        return dt_fail(DT_E_TOPOLOGY, NULL, "num_tasks must be at least 0, got %lld", (long long)m->tasks);
    if (m->devices < 0)
        return dt_fail(DT_E_TOPOLOGY, NULL, "num_tpu_devices_per_task must be at least 0, got %lld", (long long)m->devices);
    int64_t devices = m->tasks * m->devices; /* of two int32 */
    if (m->coordinates.n % 4 == 0 && m->coordinates.n / 4 == devices)
        return NULL;
    dt_list_print(&mesh, m->mesh.v, 4);
    dt_status *s = dt_fail(DT_E_TOPOLOGY, NULL, "device_coordinates must have %lld tasks x %lld devices x 4 numbers for the mesh %s, got %d",
                           (long long)m->tasks, (long long)m->devices, dt_str_text(&mesh), m->coordinates.n);
    dt_str_release(&mesh);
    return s;
}

static dt_status *check_message(const message *m)
{
    bool positive = m->mesh.n == 4;
    for (int i = 0; i < m->mesh.n; i++)
        positive = positive && m->mesh.v[i] >= 1;
    if (!positive)
        return bad_list("mesh_shape must be 4 positive numbers", &m->mesh, "");
    DT_TRY(check_count(m));
    for (int i = 0; i < m->coordinates.n; i++)
        if (m->coordinates.v[i] < 0)
            return bad_list("device_coordinates must be at least 0", &m->coordinates, m->coordinates.n > 64 ? "..." : "");
    return NULL;
}

DT_API dt_status *dt_topology_parse(dt_topology **out, const void *serialized, size_t size)
{
    static const int64_t none[1];
    message m = {0};
    DT_TRY(dt_status_kept());
    if (!serialized && size > 0)
        return dt_fail(DT_E_TOPOLOGY_BYTES, NULL, "not a TopologyProto: got NULL with a size of %zu bytes", size);
    if (size > PTRDIFF_MAX) /* of a negative number */
        return dt_fail(DT_E_TOPOLOGY_BYTES, NULL, "not a TopologyProto: no object has %zu bytes", size);
    dt_status *s = read_message(serialized, size, &m);
    if (!s)
        s = check_message(&m);
    if (!s)
        s = dt_topology_create(out, &(dt_topology_options){
            .mesh_shape = m.mesh.v, .mesh_rank = 4, .device_coordinates = m.coordinates.v ? m.coordinates.v : none,
            .coordinates_shape = (int64_t[]){m.tasks, m.devices, 4}, .coordinates_rank = 3});
    if (!s) {
        dt_str_clear(&(*out)->serialized);
        dt_str_add(&(*out)->serialized, serialized, size);
    }
    free(m.mesh.v);
    free(m.coordinates.v);
    return s;
}

/* ---- writing ---- */

static void put_varint(dt_str *out, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        dt_str_putc(out, (char)(unsigned char)((x & 127) | 128));
    dt_str_putc(out, (char)(unsigned char)x);
}

/* Without a presence bit, 0 is what is not there. */
static void put_number(dt_str *out, int field, int x)
{
    if (x == 0)
        return;
    put_varint(out, (uint64_t)field << 3 | VARINT);
    put_varint(out, (uint64_t)x);
}

static void put_list(dt_str *out, int field, const int *v, size_t n)
{
    dt_str packed = {0};
    for (size_t i = 0; i < n; i++)
        put_varint(&packed, (uint64_t)v[i]);
    if (n > 0) {
        put_varint(out, (uint64_t)field << 3 | BYTES);
        put_varint(out, packed.size);
        dt_str_add(out, dt_str_text(&packed), packed.size);
    }
    dt_str_release(&packed);
}

void dt_topology_write(const dt_topology *t, dt_str *out)
{
    put_list(out, MESH_SHAPE, t->mesh, 4);
    put_number(out, TASKS, t->tasks);
    put_number(out, DEVICES, t->devices);
    put_list(out, COORDINATES, t->coordinates[0], 4 * (size_t)t->tasks * (size_t)t->devices);
}

DT_API const void *dt_topology_serialized(const dt_topology *t, size_t *size)
{
    DT_LIVE(t);
    if (size)
        *size = t ? t->serialized.size : 0;
    return t ? dt_str_text(&t->serialized) : "";
}
