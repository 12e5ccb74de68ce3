/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a schedule on an array. A rank walks its own list of actions; all it needs besides the array is room for the largest piece that is added. The
 * schedule, not this file, decides which element gets which sum in which order.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "fabric/fabric.h"

/* ---- sums ---- */

#define SUM(name, type)                                              \
    static void name(void *to, const void *from, int64_t n)          \
    {                                                                \
        type *a = to;                                                \
        const type *b = from;                                        \
        for (int64_t i = 0; i < n; i++)                              \
            a[i] = (type)(a[i] + b[i]);                              \
    }
/* Signed integers are added as unsigned ones: the same bits, and wrapping is defined. */
SUM(sum_8, uint8_t)
SUM(sum_16, uint16_t)
SUM(sum_32, uint32_t)
SUM(sum_64, uint64_t)
SUM(sum_float32, float)
SUM(sum_float64, double)
#undef SUM

typedef void (*summing)(void *to, const void *from, int64_t n);

static const summing sums[] = {
    [DT_BOOL] = NULL, [DT_UINT8] = sum_8, [DT_INT8] = sum_8, [DT_INT16] = sum_16, [DT_INT32] = sum_32, [DT_INT64] = sum_64,
    [DT_FLOAT32] = sum_float32, [DT_FLOAT64] = sum_float64,
};

bool dt_array_add(dt_dtype dtype, void *a, const void *b, int64_t n)
{
    if (!sums[dtype])
        return false;
    sums[dtype](a, b, n);
    return true;
}

/* ---- a run ---- */

typedef struct run {
    const dt_schedule *s;
    dt_member *m;
    const dt_array *array;
    size_t size; /* of an element */
    void *scratch;
    dt_tag tag;
} run;

/* The bytes of the chunks of an action; n counts elements. */
static void *piece(const run *x, const dt_action *a, int64_t *n)
{
    int64_t begin = dt_chunk_begin(x->s, x->array->n, a->first);
    *n = dt_chunk_begin(x->s, x->array->n, a->first + a->chunks) - begin;
    return (char *)x->array->data + (size_t)begin * x->size;
}

static dt_status *act(run *x, const dt_action *a)
{
    int64_t n;
    void *at = piece(x, a, &n);
    if (x->tag.round != a->round)
        DT_TRY(dt_member_settle(x->m)); /* a later round may write over what this one sends */
    x->tag.round = a->round;
    if (a->kind == DT_ACTION_SEND)
        return dt_member_send(x->m, a->peer, &x->tag, at, (size_t)n * x->size);
    if (a->kind == DT_ACTION_RECV)
        return dt_member_recv(x->m, a->peer, &x->tag, at, (size_t)n * x->size);
    DT_TRY(dt_member_recv(x->m, a->peer, &x->tag, x->scratch, (size_t)n * x->size));
    sums[x->array->dtype](at, x->scratch, n);
    return NULL;
}

static dt_status *allocate_scratch(run *x)
{
    int64_t most = 0, n;
    for (int i = x->s->begin[x->m->rank]; i < x->s->begin[x->m->rank + 1]; i++) {
        piece(x, &x->s->action[i], &n);
        if (x->s->action[i].kind == DT_ACTION_REDUCE && n > most)
            most = n;
    }
    x->scratch = most ? dt_try_alloc((size_t)most * x->size) : NULL;
    return most && !x->scratch ? dt_fail(DT_E_NO_MEMORY, NULL, "no memory to add %lld elements", (long long)most) : NULL;
}

dt_status *dt_schedule_run(const dt_schedule *s, dt_member *m, const dt_array *array)
{
    assert(s->ranks == m->team->ranks);
    run x = {.s = s, .m = m, .array = array, .size = dt_dtype_size(array->dtype)};
    x.tag = (dt_tag){.number = ++m->number, .collective = s->collective, .dtype = array->dtype, .elements = array->n, .step = m->step};
    snprintf(x.tag.of, sizeof x.tag.of, "%s", m->of ? m->of : "");
    if (s->collective != DT_ALL_GATHER && !sums[array->dtype])
        return dt_fail(DT_E_SCHEDULE, NULL, "%s cannot be summed", dt_dtype_name(array->dtype));
    dt_status *status = allocate_scratch(&x);
    for (int i = s->begin[m->rank]; !status && i < s->begin[m->rank + 1]; i++)
        status = act(&x, &s->action[i]);
    if (!status)
        status = dt_member_settle(m);
    free(x.scratch);
    return status;
}
