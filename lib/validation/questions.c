/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules. Their physics is the simulator's in its ideal form: rates of the chip table without what was calibrated, collectives over a ring
 * or a line of links, the larger of latency and bandwidth. Sources: the roofline model; "How to Scale Your Model" uses the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "validation/question.h"

enum { HOUR = 3600, DAY = 86400, YEAR = 365 * DAY };

static bool quotient(const dt_ask *a, double *out)
{
    *out = a->v[0] / a->v[1];
    return true;
}

static bool product(const dt_ask *a, double *out)
{
    *out = a->v[0] * a->v[1];
    return true;
}

/* ---- how long ---- */

static double seconds_of(const char *unit)
{
    return strcmp(unit, "years") == 0 ? YEAR : strcmp(unit, "days") == 0 ? DAY : strcmp(unit, "hours") == 0 ? HOUR : 1;
}

/* flops, peak: on all chips, at a share of their peak. */
static bool compute_time(const dt_ask *a, double *out)
{
    *out = a->v[0] / (dt_ask_or(a, "chips", 1) * a->v[1] * dt_ask_or(a, "mfu", 1)) / seconds_of(a->unit);
    return true;
}

/* params, tokens, peak: the same for 6 operations per parameter and token. */
static bool training_time(const dt_ask *a, double *out)
{
    *out = 6 * a->v[0] * a->v[1] / (dt_ask_or(a, "chips", 1) * a->v[2] * dt_ask_or(a, "mfu", 1)) / seconds_of(a->unit);
    return true;
}

/* params, tokens, hours of all chips, peak. */
static bool utilisation(const dt_ask *a, double *out)
{
    *out = 6 * a->v[0] * a->v[1] / (a->v[2] * HOUR * a->v[3]);
    return true;
}

/* bytes, rate of one chip */
static bool load_bytes(const dt_ask *a, double *out)
{
    *out = a->v[0] / dt_ask_or(a, "chips", 1) / a->v[1];
    return true;
}

/* params, bytes of one, rate of one chip */
static bool load_params(const dt_ask *a, double *out)
{
    *out = a->v[0] * a->v[1] / dt_ask_or(a, "chips", 1) / a->v[2];
    return true;
}

/* ---- arrays on meshes ---- */

/* Product of the sizes of axes, "XY"; 0: one is not known. */
static double axes_product(const dt_ask *a, const char *axes)
{
    double n = 1;
    for (; *axes; axes++) {
        char name[2] = {*axes, '\0'};
        n *= dt_ask_or(a, name, 0);
    }
    return n;
}

static double mesh_devices(const dt_ask *a)
{
    return dt_ask_or(a, "X", 1) * dt_ask_or(a, "Y", 1) * dt_ask_or(a, "Z", 1);
}

/* The pieces that an array is cut into, by its own axes or by those of a bare list that follows it ("sharded [I_XY, J]"); 0: not known. */
static double pieces(const dt_ask *a)
{
    double n = 1;
    for (int k = 0; k < a->operation.arrays; k++)
        for (int d = 0; d < a->operation.array[k].rank; d++)
            n *= axes_product(a, a->operation.array[k].axes[d]);
    return n;
}

static bool bytes_per_device(const dt_ask *a, double *out)
{
    *out = dt_written_bytes(&a->operation.array[0]) / pieces(a);
    return *out > 0 && isfinite(*out);
}

static bool bytes_of_all(const dt_ask *a, double *out)
{
    return bytes_per_device(a, out) && (*out *= mesh_devices(a)) > 0;
}

/* "sharded over X only": every other axis holds copies. */
static bool copies(const dt_ask *a, double *out)
{
    static const char marks[] = "sharded over ";
    const char *at = strstr(a->text, marks);
    if (!at)
        return false;
    char axes[4] = "";
    at += strlen(marks);
    for (int n = 0; n < 3 && at[n] >= 'x' && at[n] <= 'z'; n++)
        axes[n] = (char)(at[n] - 'x' + 'X');
    *out = mesh_devices(a) / axes_product(a, axes);
    return *axes && isfinite(*out);
}

/* ---- links ---- */

/* hops, bytes of a piece, rate of a link, latency of a hop: one piece handed on, hop by hop. */
static bool along_a_line(const dt_ask *a, double *out)
{
    *out = a->v[0] * fmax(a->v[3], a->v[1] / a->v[2]);
    return true;
}

static bool wraps(const dt_chip *chip, double n)
{
    return chip && (chip->dims == 2 ? n >= chip->wrap : n / chip->wrap >= 1 && fmod(n, chip->wrap) <= 0);
}

/* What an array has on devices that differ along these axes only: the other axes cut it. */
static double gathered_bytes(const dt_ask *a)
{
    const dt_written *array = &a->operation.array[0];
    double bytes = dt_written_bytes(array);
    for (int d = 0; d < array->rank; d++)
        for (const char *axis = array->axes[d]; *axis; axis++)
            if (!strchr(a->operation.axes, *axis))
                bytes /= axes_product(a, (char[]){*axis, '\0'});
    return bytes;
}

/* rate of a link, latency: a gather over a ring in both ways, or over a line. A row that gives the rate of both ways asks for a ring. */
static bool gather(const dt_ask *a, double *out)
{
    const dt_operation *op = &a->operation;
    double n = op->axes[0] && !op->axes[1] ? axes_product(a, op->axes) : 0, bytes = gathered_bytes(a), both_ways = 2 * a->v[0];
    if ((op->kind != DT_OPERATION_ALL_GATHER && op->kind != DT_OPERATION_REDUCE_SCATTER) || n < 2 || bytes <= 0 || !isfinite(bytes))
        return false;
    if (dt_facts_find(a->own, "W", &both_ways) || strstr(a->text, "ring") || wraps(a->all->chip, n))
        *out = fmax(a->v[1] * ceil(n / 2), bytes / both_ways);
    else
        *out = (n - 1) * fmax(a->v[1], bytes / n / a->v[0]);
    return true;
}

/* ---- what keeps chips busy ---- */

/* peak, both ways of an axis, axes: tokens a chip at which the gradients' (or the weights') travel takes as long as the work. */
static bool least_batch(const dt_ask *a, double *out)
{
    double chips = strstr(a->question, "per chip") ? 1 : dt_ask_or(a, "chips", 1);
    *out = a->v[0] / a->v[1] / a->v[2] * chips;
    return true;
}

/* peak, rate of a link: a contraction in `over` pieces, each result of which travels once. */
static bool least_contraction(const dt_ask *a, double *out)
{
    double pieces_of = dt_ask_or(a, "over", 2);
    *out = pieces_of * a->v[0] * dt_ask_or(a, "bytes_per", 2) / (2 * a->v[1]);
    return true;
}

/* peak, rate of the memory: rows of x at which x [rows, k] by w [k, n] takes as long to compute as to read and write. */
static bool least_rows(const dt_ask *a, double *out)
{
    const dt_written *w = &a->operation.array[a->operation.arrays > 1];
    double k = w->rank == 2 ? w->size[0] : dt_ask_or(a, "D", 0), n = w->rank == 2 ? w->size[1] : dt_ask_or(a, "F", 0);
    if (k <= 0 || n <= 0)
        return false;
    double e = w->element > 0 ? w->element : dt_ask_or(a, "bytes_per", 2);
    *out = e * k * n / a->v[1] / (2 * k * n / a->v[0] - e * (k + n) / a->v[1]);
    return *out > 0;
}

/* D: per token, queries, keys, values and output take 4 * 2 D^2, scores and shares 2 * 2 D T. */
static bool equal_length(const dt_ask *a, double *out)
{
    *out = 8 * a->v[0] * a->v[0] / (4 * a->v[0]);
    return true;
}

/* ---- models and slices ---- */

/* key heads, their size, layers, bytes */
static bool kept_keys(const dt_ask *a, double *out)
{
    double tokens = strstr(a->question, "per token") ? 1 : dt_ask_or(a, "T", 0) * dt_ask_or(a, "B", 1);
    *out = 2 * a->v[0] * a->v[1] * a->v[2] * a->v[3] * tokens;
    return tokens > 0;
}

static double sides(const dt_ask *a, const char *name)
{
    double n = 1, side;
    for (int i = 0; i < 3; i++) {
        char item[16];
        snprintf(item, sizeof item, "%s%d", name, i);
        if (dt_facts_find(a->own, item, &side))
            n *= side;
        else if (i == 0)
            return 0;
    }
    return n;
}

static bool hosts(const dt_ask *a, double *out)
{
    double chips = sides(a, "pod"), host = sides(a, "host");
    const dt_chip *chip = a->all->chip;
    if (host <= 0 && chip)
        host = chip->host[0] * chip->host[1] * chip->host[2];
    if (chips <= 0)
        chips = dt_ask_or(a, "chips", 0);
    *out = ceil(chips / host);
    return chips > 0 && host > 0;
}

static const dt_question questions[] = {
    {"intensity vmem", "FLOP/B", "peak =vmem", quotient},
    {"intensity !vmem !ici", "FLOP/B", "peak hbm", quotient},
    {"utilisation|utilization|mfu", "ratio", "=params =tokens =hours =peak", utilisation},
    {"flops", "years days hours s", "=flops peak", compute_time},
    {"train", "years days hours", "=params =tokens peak", training_time},
    {"tokens_per_chip", "tokens", "=tokens =chips", quotient},
    {"tokens_per_chip", "tokens", "=tokens =ways", quotient},
    {"kv", "B", "=K =H =L =bytes_per", kept_keys},
    {"hbm load|read", "s", "=params =bytes_per hbm", load_params},
    {"hbm !pcie", "s", "=bytes =hbm", load_bytes},
    {"per_device|per_chip", "B", "", bytes_per_device},
    {"all_devices", "B", "", bytes_of_all},
    {"one_copy", "ratio", "", copies},
    {"no_wraparound", "s", "=hops =shard ici hop", along_a_line},
    {"gather|scatter", "s", "ici hop", gather},
    {"latency_bound", "B", "ici hop", product},
    {"dcn", "tokens", "=C =W", quotient},
    {"dp|fsdp|data_parallel !tp|tensor|model|mixed|2d", "tokens", "peak W =axes", least_batch},
    {"contraction smallest_d", "D", "peak ici", least_contraction},
    {"vmem", "rows", "=peak =vmem", least_rows},
    {"!vmem", "rows", "=peak =hbm", least_rows},
    {"attention equal", "tokens", "=D", equal_length},
    {"hosts", "hosts", "", hosts},
    {"flops/s|peak", "FLOP/s", "=chips peak", product},
};

const dt_question *dt_questions(int *n)
{
    *n = sizeof questions / sizeof *questions;
    return questions;
}
