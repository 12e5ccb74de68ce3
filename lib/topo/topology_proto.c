/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies as bytes: the protocol buffer message TopologyProto, in which TensorFlow's hosts
 * report a slice.
 *
 *     field 1  mesh_shape                repeated int32     packed, or one by one
 *     field 2  num_tasks                 int32
 *     field 3  num_tpu_devices_per_task  int32
 *     field 4  device_coordinates        repeated int32     [task][device][4], flat
 *
 * Unknown fields are skipped. Memory is never allocated for counts that the bytes merely claim:
 * every element of a list needs at least one byte.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/protobuf.h"
#include "topo/topo.h"

enum { MESH_SHAPE = 1, TASKS, DEVICES, COORDINATES };

/* ---- reading ---- */

typedef struct numbers {
    int n, cap;
    int64_t *v;
} numbers;

typedef struct message {
    numbers mesh, coordinates;
    int64_t tasks, devices;
} message;

/* Returns the value of an int32 field: the low 32 bits of the encoded number. */
static int64_t int32_of(uint64_t x) {
    const uint32_t low = (uint32_t)x;
    return low <= INT32_MAX ? (int64_t)low : (int64_t)low - (INT64_C(1) << 32);
}

static bool add_number(numbers *out, uint64_t x) {
    if (out->n == INT_MAX) return false;
    DT_GROW(out->v, out->cap, out->n + 1);
    out->v[out->n++] = int32_of(x);
    return true;
}

static bool add_packed(numbers *out, dt_pb_span s) {
    const char *why;
    uint64_t x;
    while (s.at < s.end)
        if (!dt_pb_varint(&s, &x, &why) || !add_number(out, x)) return false;
    return true;
}

/* Reads a field into the message. A known field with a wrong wire type is skipped like an unknown
 * one. Returns false if a packed list is malformed, or a list has more than INT_MAX numbers. */
static bool take_field(message *m, const dt_pb_field *f) {
    const bool is_mesh = f->number == MESH_SHAPE, is_tasks = f->number == TASKS;
    numbers *list = is_mesh ? &m->mesh : &m->coordinates;
    if (is_mesh || f->number == COORDINATES)
        return f->type == DT_PB_VARINT  ? add_number(list, f->value)
               : f->type == DT_PB_BYTES ? add_packed(list, f->bytes)
                                        : true;
    if ((is_tasks || f->number == DEVICES) && f->type == DT_PB_VARINT)
        *(is_tasks ? &m->tasks : &m->devices) = int32_of(f->value);
    return true;
}

static dt_status *read_message(const void *serialized, size_t size, message *m) {
    const unsigned char *start = serialized;
    /* If there are no bytes, the pointer may be NULL. */
    dt_pb_span s = {start, size ? start + size : start};
    const char *why;
    dt_pb_field f;
    while (s.at < s.end) {
        const unsigned char *field = s.at;
        if (!dt_pb_next(&s, &f, &why) || !take_field(m, &f))
            return dt_fail(
                DT_E_TOPOLOGY_BYTES, NULL,
                "not a TopologyProto: the field at byte %lld of %lld is malformed or cut off",
                (long long)(field - start), (long long)size);
    }
    return NULL;
}

/* ---- checking the message, and parsing ---- */

static dt_status *bad_list(const char *what, const numbers *got, const char *suffix) {
    dt_local_str text = {0};
    dt_list_print(&text, got->v, got->n < 64 ? got->n : 64);
    return dt_fail(DT_E_TOPOLOGY, NULL, "%s, got %s%s", what, dt_str_text(&text), suffix);
}

static dt_status *check_count(const message *m) {
    if (m->tasks < 0)
        return dt_fail(DT_E_TOPOLOGY, NULL, "num_tasks must be at least 0, got %lld",
                       (long long)m->tasks);
    if (m->devices < 0)
        return dt_fail(DT_E_TOPOLOGY, NULL, "num_tpu_devices_per_task must be at least 0, got %lld",
                       (long long)m->devices);
    /* The product cannot overflow, since both numbers are int32. */
    int64_t devices = m->tasks * m->devices;
    if (m->coordinates.n % 4 == 0 && m->coordinates.n / 4 == devices) return NULL;
    return dt_fail(
        DT_E_TOPOLOGY, NULL,
        "device_coordinates must have %lld tasks x %lld devices x 4 numbers for the mesh "
        "%s, got %d",
        (long long)m->tasks, (long long)m->devices, dt_text_of_list(m->mesh.v, 4).s,
        m->coordinates.n);
}

static dt_status *check_message(const message *m) {
    bool positive = m->mesh.n == 4;
    for (int i = 0; i < m->mesh.n; i++) positive = positive && m->mesh.v[i] >= 1;
    if (!positive) return bad_list("mesh_shape must be 4 positive numbers", &m->mesh, "");
    DT_TRY(check_count(m));
    for (int i = 0; i < m->coordinates.n; i++)
        if (m->coordinates.v[i] < 0)
            return bad_list("device_coordinates must be at least 0", &m->coordinates,
                            m->coordinates.n > 64 ? "..." : "");
    return NULL;
}

DT_API dt_status *dt_topology_parse(dt_topology **out, const void *serialized, size_t size) {
    static const int64_t none[1];
    message m = {0};
    DT_TRY(dt_status_kept());
    if (!serialized && size > 0)
        return dt_fail(DT_E_TOPOLOGY_BYTES, NULL,
                       "not a TopologyProto: got NULL with a size of %zu bytes", size);
    if (size > PTRDIFF_MAX) /* A size that is negative as a ptrdiff_t is refused. */
        return dt_fail(DT_E_TOPOLOGY_BYTES, NULL, "not a TopologyProto: no object has %zu bytes",
                       size);
    dt_status *s = read_message(serialized, size, &m);
    if (!s) s = check_message(&m);
    if (!s)
        s = dt_topology_create(
            out,
            &(dt_topology_options){.mesh_shape = m.mesh.v,
                                   .mesh_rank = 4,
                                   .device_coordinates = m.coordinates.v ? m.coordinates.v : none,
                                   .coordinates_shape = (int64_t[]){m.tasks, m.devices, 4},
                                   .coordinates_rank = 3});
    if (!s) {
        dt_str_clear(&(*out)->serialized);
        dt_str_add(&(*out)->serialized, serialized, size);
    }
    free(m.mesh.v);
    free(m.coordinates.v);
    return s;
}

/* ---- writing ---- */

/* Writes a number. In this format, a field whose value is 0 is left out. */
static void put_number(dt_str *out, int field, int x) {
    if (x == 0) return;
    dt_pb_put_int(out, DT_PB_TAG(field, DT_PB_VARINT), x);
}

static void put_list(dt_str *out, int field, const int *v, size_t n) {
    dt_local_str packed = {0};
    for (size_t i = 0; i < n; i++) dt_pb_put_varint(&packed, (uint64_t)v[i]);
    if (n > 0) dt_pb_put_message(out, DT_PB_TAG(field, DT_PB_BYTES), &packed);
}

void dt_topology_write(const dt_topology *t, dt_str *out) {
    put_list(out, MESH_SHAPE, t->mesh, 4);
    put_number(out, TASKS, t->tasks);
    put_number(out, DEVICES, t->devices);
    put_list(out, COORDINATES, t->coordinates[0], 4 * (size_t)t->tasks * (size_t)t->devices);
}

DT_API const void *dt_topology_serialized(const dt_topology *t, size_t *size) {
    DT_LIVE(t);
    if (size) *size = t ? t->serialized.size : 0;
    return t ? dt_str_text(&t->serialized) : "";
}
