/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device names. Users may write short ones. Internally all names are full, so that two names of
 * the same device are equal.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "topo/topo.h"

static const char *const types[] = {
    [DT_DEVICE_CPU] = "CPU", [DT_DEVICE_GPU] = "GPU", [DT_DEVICE_TPU] = "TPU"};
enum { TYPES = sizeof types / sizeof *types };

/* A device name that is being read. */
typedef struct reader {
    const char *text;      /* the whole name, for error messages */
    const dt_location *at; /* source location of the name for error messages; NULL: unknown */
    dt_device_name *out;
    bool job, replica, task, device; /* whether the part was read; each may occur only once */
} reader;

static dt_status *malformed(const reader *r, const char *why) {
    return dt_fail(DT_E_DEVICE_NAME, r->at, "'%.80s' is not a device name: %s", r->text, why);
}

static dt_status *read_number(const reader *r, const char *digits, int *out) {
    int64_t n;
    if (!isdigit((unsigned char)*digits) || (!dt_parse_int64(digits, &n) && errno != ERANGE))
        return malformed(r, "write TYPE:NUMBER, as in CPU:0");
    if (strlen(digits) > 10 || n > INT_MAX) return malformed(r, "its number is out of range");
    *out = (int)n;
    return NULL;
}

static dt_status *read_type(const reader *r, const char *name, size_t length) {
    for (int i = 0; i < TYPES; i++)
        if (strlen(types[i]) == length && strncasecmp(types[i], name, length) == 0) {
            r->out->type = (dt_device_type)i;
            return NULL;
        }
    return malformed(r, "the device type must be CPU, GPU or TPU");
}

/* Reads a type and an index such as "CPU:0" into r->out. Fails with DEVICE_NAME if they are
 * malformed, or the name already has a device. */
static dt_status *read_device(reader *r, const char *part) {
    const char *colon = strchr(part, ':');
    if (r->device) return malformed(r, "it names two devices");
    r->device = true;
    if (!colon) return malformed(r, "write TYPE:NUMBER, as in CPU:0");
    DT_TRY(read_type(r, part, (size_t)(colon - part)));
    return read_number(r, colon + 1, &r->out->index);
}

/* Returns the rule that a text breaks as a job name; NULL: the text is a valid name. */
static const char *job_fault(const char *job) {
    size_t length = strlen(job);
    if (length == 0 || length >= DT_JOB_NAME) return "the job's name must have 1 to 31 characters";
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)job[i]) && job[i] != '_')
            return "the job's name may have letters, digits and _";
    return NULL;
}

dt_status *dt_job_name_parse(const char *job, const dt_location *at, char out[DT_JOB_NAME]) {
    const char *fault = job_fault(job);
    if (fault) return dt_fail(DT_E_DEVICE_NAME, at, "invalid job name '%.80s': %s", job, fault);
    memcpy(out, job, strlen(job) + 1);
    return NULL;
}

static dt_status *read_job(reader *r, const char *job) {
    if (r->job) return malformed(r, "it names two jobs");
    r->job = true;
    const char *fault = job_fault(job);
    if (fault) return malformed(r, fault);
    memcpy(r->out->job, job, strlen(job) + 1);
    return NULL;
}

static dt_status *read_index(const reader *r, bool *given, const char *digits, int *out) {
    if (*given) return malformed(r, "a part is given twice");
    *given = true;
    return read_number(r, digits, out);
}

/* Reads one part of a name: "job:worker", "task:1", "device:CPU:0", "cpu:0". */
static dt_status *read_part(reader *r, const char *part) {
    if (strncasecmp(part, "job:", 4) == 0) return read_job(r, part + 4);
    if (strncasecmp(part, "replica:", 8) == 0)
        return read_index(r, &r->replica, part + 8, &r->out->replica);
    if (strncasecmp(part, "task:", 5) == 0) return read_index(r, &r->task, part + 5, &r->out->task);
    return read_device(r, strncasecmp(part, "device:", 7) == 0 ? part + 7 : part);
}

dt_status *dt_device_name_parse(const char *text, const dt_location *at, dt_device_name *out) {
    if (!text) return dt_fail(DT_E_DEVICE_NAME, at, "empty device name; write CPU:0");
    *out = (dt_device_name){.job = "localhost"};
    reader r = {.text = text, .at = at, .out = out};
    char part[64];
    const char *rest = *text == '/' ? text + 1 : text;
    for (bool more = true; more;) {
        size_t length = strcspn(rest, "/");
        if (length >= sizeof part) return malformed(&r, "it is too long");
        memcpy(part, rest, length);
        part[length] = '\0';
        DT_TRY(read_part(&r, part));
        more = rest[length] == '/';
        rest += length + more;
    }
    return r.device ? NULL : malformed(&r, "the device is missing; add it, as in /device:CPU:0");
}

void dt_device_name_print(const dt_device_name *d, dt_str *out) {
    dt_str_printf(out, "/job:%s/replica:%d/task:%d/device:%s:%d", d->job, d->replica, d->task,
                  types[d->type], d->index);
}

bool dt_device_name_equal(const dt_device_name *a, const dt_device_name *b) {
    return strcmp(a->job, b->job) == 0 && a->replica == b->replica && a->task == b->task &&
           a->type == b->type && a->index == b->index;
}

/* ---- devices of this machine ---- */

static bool is_local(const dt_device_name *d) {
    return strcmp(d->job, "localhost") == 0 && d->replica == 0 && d->task == 0;
}

static dt_status *check_here(const char *name, const dt_location *at, const dt_device_name *d) {
    if (is_local(d) && d->type != DT_DEVICE_CPU)
        return dt_suggest(
            dt_fail(DT_E_NO_DEVICE, at,
                    "no device '%.80s'; this machine has only CPU devices: CPU:0, CPU:1, ...",
                    name),
            "GPUs and TPUs are used through a PJRT plug-in: --backend pjrt --plugin PATH");
    if (!is_local(d))
        return dt_fail(DT_E_NO_DEVICE, at,
                       "no device '%.80s'; this machine has only CPU devices: CPU:0, CPU:1, ...",
                       name);
    if (d->index >= DT_MAX_CPU_DEVICES)
        return dt_fail(DT_E_NO_DEVICE, at, "no device '%.80s'; the last CPU device is CPU:%d", name,
                       DT_MAX_CPU_DEVICES - 1);
    return NULL;
}

static dt_status *check_kind(const char *name, const dt_location *at, const dt_device_name *d,
                             const dt_device_name *first) {
    if (!is_local(d) || d->index >= DT_MAX_CPU_DEVICES)
        return dt_fail(DT_E_NO_DEVICE, at, "no device '%.80s' on this machine", name);
    if (d->type != first->type)
        return dt_fail(DT_E_DEVICE_NAME, at,
                       "'%.80s': replicas of one strategy are on devices of one kind, and the "
                       "first is on %s:%d",
                       name, types[first->type], first->index);
    return NULL;
}

static dt_status *parse(const char *const *names, int n, const dt_location *at, bool accelerated,
                        dt_device_name *out) {
    /* one bit for each index of a device that was listed */
    uint64_t listed[DT_MAX_CPU_DEVICES / 64] = {0};
    for (int i = 0; i < n; i++) {
        DT_TRY(dt_device_name_parse(names[i], at, &out[i]));
        DT_TRY(accelerated ? check_kind(names[i], at, &out[i], &out[0])
                           : check_here(names[i], at, &out[i]));
        const uint64_t bit = UINT64_C(1) << out[i].index % 64;
        if (listed[out[i].index / 64] & bit)
            return dt_fail(DT_E_DEVICE_TWICE, at, "'%.80s' is listed twice", names[i]);
        listed[out[i].index / 64] |= bit;
    }
    return NULL;
}

dt_status *dt_cpu_devices_parse(const char *const *names, int n, const dt_location *at,
                                dt_device_name *out) {
    return parse(names, n, at, false, out);
}

dt_status *dt_accelerators_parse(const char *const *names, int n, const dt_location *at,
                                 dt_device_name *out) {
    return parse(names, n, at, true, out);
}
