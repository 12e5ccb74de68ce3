/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `partition` of a job as structs:
 *
 *     image:         {split: [1, 2, 4, 1]}         a value: an element of the data, the output of
 *                                                  a layer or a value within one
 *     weights:       [{match: "*" , split: [2]}]   rules for weights, the first that matches
 *     over_replicas: none | optimizer | weights    the variables that are divided among replicas
 *     sequence_parallel: true                      values between a block's products are divided
 *                                                  along the sequence
 *     micro_batches: 4                             a batch passes through a pipeline of layers in
 *                                                  4 parts
 */
#ifndef DT_JOB_PARTITION_H
#define DT_JOB_PARTITION_H

#include "base/hash_index.h"
#include "job/job.h"
#include "strategy/split.h"

/* A layout that the job requests, on the logical devices of a replica. */
typedef struct dt_lying {
    dt_sharding_kind kind; /* OTHER: the value is divided */
    dt_ints parts;         /* for OTHER: number of parts of each dimension */
    int64_t device;        /* for MAXIMAL: index of the logical device that has the whole value */
    const dt_tree *tree;   /* the YAML node to locate errors at: the list, the number or the word */
} dt_lying;

typedef struct dt_job_value {
    const char *name;
    dt_location at;
    dt_lying how;
} dt_job_value;

typedef struct dt_job_rule {
    const char *match;
    dt_location at;
    int n;
    const char *const *pattern; /* [n] the patterns in `match`, the text of the rule */
    dt_lying how;
} dt_job_rule;

struct dt_job_partition {
    dt_location at;        /* location of the key in the job file */
    int n_values, n_rules; /* lengths of `value` and `rule` */
    dt_job_value *value;   /* the entries for values, without those that have faults */
    dt_job_rule *rule;     /* the rules for weights, without those that have faults */
    bool sequence_parallel, collective_products;
    dt_location over_at, micro_at;
};

/* Reads `partition`. Returns all faults; j->partition and j->how get the entries without faults.
 * `key` is the location of the mapping's key. */
dt_status *dt_job_partition_read(dt_job *j, const dt_tree *t, const dt_location *key) DT_MUST_USE;

/* partition.c: whether sequence_parallel divides the value of that name along the sequence, or
 * gathers it. */
bool dt_job_divides_sequence(const dt_job *j, const char *name);

/* A value that can be annotated: an input of the model, a layer's output or a value within a layer.
 * Messages call it NOUN 'NAME'. */
typedef struct dt_job_tensor {
    const char *noun, *name; /* kind and name, such as "layer" and "decoder_0" */
    dt_type type;            /* type of the value, (B, ...) */
} dt_job_tensor;

typedef struct dt_job_tensors {
    int n, cap;
    dt_job_tensor *v;
    dt_hash_index at; /* finds the index in `v` of a value by its name */
} dt_job_tensors;

/* Lists the inputs, every layer's output and the values within layers, in the order of a forward
 * pass, which is traced without memory for weights. Free it with dt_job_tensors_release. */
dt_status *dt_job_list_tensors(const dt_job *j, dt_job_tensors *out) DT_MUST_USE;
void dt_job_tensors_release(dt_job_tensors *list);

/* Returns the fields of the reserved keys of `partition`. Sets *others to the forms of all other
 * keys. */
const dt_field *dt_partition_fields(const dt_field **others);

#endif
