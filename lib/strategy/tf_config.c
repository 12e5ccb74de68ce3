/* SPDX-License-Identifier: Apache-2.0 */
/* Reads TF_CONFIG. In this variable TensorFlow's launchers describe the tasks of a cluster, and
 * which of them this process is. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/environment.h"
#include "net/address.h"
#include "net/fabric.h"
#include "strategy/cluster.h"

static int64_t tasks_of(const json_t *cluster, const char *job) {
    const json_t *list = json_object_get(cluster, job);
    return (int64_t)(json_is_object(list) ? json_object_size(list) : json_array_size(list));
}

/* Copies the addresses of the tasks of a type ("job"). TF_CONFIG has them as a list or a mapping,
 * which was checked before. */
static void list_tasks(const json_t *cluster, const char *job, const char **address) {
    json_t *list = json_object_get(cluster, job);
    void *at = json_object_iter(list);
    const int64_t n = tasks_of(cluster, job);
    for (int64_t i = 0; i < n; i++) {
        address[i] = dt_strdup(
            json_string_value(at ? json_object_iter_value(at) : json_array_get(list, (size_t)i)));
        at = at ? json_object_iter_next(list, at) : NULL;
    }
}

/* The words for the values of dt_task_type, then "chief". */
static const char *const types[] = {"worker", "ps", "evaluator", "chief"};
enum { TYPES = sizeof types / sizeof *types, CHIEF = TYPES - 1 };

static int type_of(const char *name) {
    int k = 0;
    while (k < TYPES && strcmp(name, types[k]) != 0) k++;
    return k;
}

static dt_status *unknown_type(const char *what, const char *type) {
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG: unknown %s '%.40s'", what, type),
                      "known: chief, worker, ps, evaluator");
}

static dt_status *check_task(const char *type, const char *number, const json_t *address) {
    const char *text = json_string_value(address);
    dt_address a;
    if (!text)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG: the address of %s %.20s must be a text, \"HOST:PORT\"", type,
                       number);
    dt_status *s = dt_address_read(&a, text);
    if (!s && a.port != 0) return NULL;
    dt_status_free(s);
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                              "TF_CONFIG: '%.100s' is not the address of %s %.20s", text, type,
                              number),
                      "write HOST:PORT, or [ADDRESS]:PORT for IPv6, with a port from 1 to 65535");
}

/* Checks the addresses of all tasks, also of those that are not used, since a wrong address means
 * that the description is of another cluster. */
static dt_status *check_tasks(const char *type, json_t *list) {
    const char *key;
    json_t *address;
    size_t i;
    char number[24];
    json_object_foreach(list, key, address) DT_TRY(check_task(type, key, address));
    json_array_foreach(list, i, address) {
        snprintf(number, sizeof number, "%zu", i);
        DT_TRY(check_task(type, number, address));
    }
    return NULL;
}

/* Checks the whole cluster. Unknown types of tasks are refused rather than ignored. */
static dt_status *check_cluster(json_t *cluster) {
    const char *type;
    json_t *list;
    if (cluster && !json_is_object(cluster))
        return dt_fail(
            DT_E_LAUNCH, NULL,
            "TF_CONFIG: \"cluster\" must be an object: {\"worker\": [\"HOST:PORT\", ...]}");
    json_object_foreach(cluster, type, list) {
        if (type_of(type) == TYPES) return unknown_type("type of tasks in the cluster", type);
        if (!json_is_array(list) && !json_is_object(list))
            return dt_fail(DT_E_LAUNCH, NULL,
                           "TF_CONFIG: \"%s\" in the cluster must be a list of addresses: "
                           "[\"HOST:PORT\", ...]",
                           type);
        DT_TRY(check_tasks(type, list));
    }
    return NULL;
}

/* Reads a task's index, which may be a number or a string, as in TensorFlow. */
static bool read_index(const json_t *index, int64_t *out) {
    *out = json_integer_value(index);
    return json_is_integer(index) ||
           (json_is_string(index) && dt_parse_int64(json_string_value(index), out));
}

static dt_status *bad_index(const json_t *index) {
    char *text = json_dumps(index, JSON_ENCODE_ANY);
    dt_status *s = dt_fail(DT_E_LAUNCH, NULL,
                           "TF_CONFIG: the task's \"index\" must be a whole number, got %.40s",
                           text ? text : "another text");
    free(text);
    return s;
}

/* Returns the position in the list of the task with this index; -1: the task is missing. If the
 * list is a mapping, its keys are the indices. */
static int64_t find_index(json_t *list, int64_t index) {
    const char *key;
    json_t *address;
    int64_t at = 0, number;
    if (!json_is_object(list))
        return index >= 0 && index < (int64_t)json_array_size(list) ? index : -1;
    json_object_foreach(list, key, address) {
        if (dt_parse_int64(key, &number) && number == index) return at;
        at++;
    }
    return -1;
}

/* Returns the error that a task is not listed. keyed: the cluster maps indices to addresses; all:
 * the number of tasks of the type. */
static dt_status *absent(const char *type, int64_t index, int64_t all, bool keyed) {
    if (all == 0)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG: %s %lld is not in the cluster, which has no %s", type,
                       (long long)index, type);
    if (keyed)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG: %s %lld is not in the cluster, which has %lld of them, with "
                       "other indices",
                       type, (long long)index, (long long)all);
    return dt_fail(DT_E_LAUNCH, NULL,
                   "TF_CONFIG: %s %lld is not in the cluster, whose last %s is %lld", type,
                   (long long)index, type, (long long)all - 1);
}

/* Finds this process's task. An evaluator is not part of the cluster, so it need not be listed
 * there. */
static dt_status *find_task(const json_t *whole, int64_t chiefs, dt_launch *out) {
    const json_t *cluster = json_object_get(whole, "cluster"),
                 *task = json_object_get(whole, "task");
    const char *type = json_string_value(json_object_get(task, "type"));
    int64_t index = 0;
    if (type && json_object_get(task, "index") &&
        !read_index(json_object_get(task, "index"), &index))
        return bad_index(json_object_get(task, "index"));
    if (!type || !json_object_get(task, "index"))
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG describes %d worker%s, but not which one this is: \"task\": "
                       "{\"type\": \"worker\", \"index\": 0}",
                       out->workers, out->workers == 1 ? "" : "s");
    const int k = type_of(type);
    if (k == TYPES) return unknown_type("task type", type);
    const int64_t all = tasks_of(cluster, type);
    int64_t at = find_index(json_object_get(cluster, type), index);
    if (at < 0 && k == DT_TASK_EVALUATOR && all == 0 && index >= 0 && index < DT_LAUNCH_MOST)
        at = index;
    if (at < 0) return absent(type, index, all, json_is_object(json_object_get(cluster, type)));
    out->task = k == CHIEF ? DT_TASK_WORKER : (dt_task_type)k;
    out->rank = (int)(at + (out->task != DT_TASK_WORKER ? out->workers : k == CHIEF ? 0 : chiefs));
    return NULL;
}

/* Refuses a `task` that is not an object, and unknown keys of a TF_CONFIG without `cluster`: if the
 * key is misspelled, each of several processes would train alone. */
static dt_status *check_keys(const json_t *whole) {
    static const char *const known[] = {"cluster",   "task",           "environment",
                                        "rpc_layer", "session_master", "eval_session_master",
                                        "service",   "model_dir"};
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)whole, key, value) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || strcmp(key, known[i]) == 0;
        if (!is_known && !json_object_get(whole, "cluster"))
            return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                                      "TF_CONFIG has no \"cluster\", but an unknown key '%s'", key),
                              "write the addresses under \"cluster\", or unset TF_CONFIG to run "
                              "the job in this process alone");
        if (strcmp(key, "task") == 0 && !json_is_object(value))
            return dt_fail(DT_E_LAUNCH, NULL,
                           "TF_CONFIG: \"task\" must be an object, such as {\"type\": \"worker\", "
                           "\"index\": 0}");
    }
    return NULL;
}

/* Reads the cluster and finds this process's task in it. If the cluster has at most one task, this
 * process runs alone. */
static dt_status *take_task(const json_t *whole, dt_launch *out) {
    DT_TRY(check_keys(whole));
    json_t *cluster = json_object_get(whole, "cluster"), *task = json_object_get(whole, "task");
    DT_TRY(check_cluster(cluster));
    const int64_t chiefs = tasks_of(cluster, "chief"), workers = tasks_of(cluster, "worker");
    const int64_t all = chiefs + workers + tasks_of(cluster, "ps") + tasks_of(cluster, "evaluator");
    if (chiefs > 1 || chiefs + workers > DT_LAUNCH_MOST)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG: %lld chiefs and %lld workers; there is one chief at most",
                       (long long)chiefs, (long long)workers);
    out->workers = (int)(chiefs + workers);
    if (all > 1 || json_object_size(task) > 0) DT_TRY(find_task(whole, chiefs, out));
    if (all == 1 && out->task == DT_TASK_WORKER) {
        out->workers = 0;
        out->stated = 1;
    }
    if (all < 2) return NULL;
    out->stated = out->workers;
    out->has_chief = chiefs > 0;
    out->ps = (int)tasks_of(cluster, "ps");
    out->first = (int)chiefs;
    out->addresses = (int)(chiefs + workers);
    out->address = dt_alloc((size_t)(out->addresses + 1) * sizeof *out->address);
    out->ps_address = dt_alloc((size_t)(out->ps + 1) * sizeof *out->ps_address);
    list_tasks(cluster, "chief", out->address);
    list_tasks(cluster, "worker", out->address + chiefs);
    list_tasks(cluster, "ps", out->ps_address);
    return dt_launch_check_addresses(out, NULL, "TF_CONFIG");
}

dt_status *dt_launch_read_tf_config(dt_launch *out) {
    const char *text = dt_environment("TF_CONFIG");
    *out = (dt_launch){.by = "TF_CONFIG",
                       .launcher = "TF_CONFIG",
                       .fabric = &dt_fabric_zmq,
                       .start = "TF_CONFIG's task index "};
    if (!text) return NULL;
    json_t *whole = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    dt_status *s = json_is_object(whole)
                       ? take_task(whole, out)
                       : dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG is not a JSON object: %.60s", text);
    json_decref(whole);
    return s;
}
