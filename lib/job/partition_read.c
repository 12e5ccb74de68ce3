/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `partition` and checks its form, without looking at the model. Reading continues after a
 * fault. */
#include <string.h>

#include "base/glob.h"
#include "job/partition.h"

enum { LONGEST_MATCH = 200, MOST_PATTERNS = 256 };

/* ---- split, replicate, assign ---- */

struct lying {
    const char *match; /* the pattern of names of weights, for a rule; NULL for other entries */
    dt_ints split;
    int64_t assign;
    bool replicate, has_assign;
};

#define LYING_FIELDS                                                                               \
    DT_INTS(struct lying, split, .min = 1, .max = DT_MAX_REPLICAS,                                 \
            .help = "number of parts along each dimension"),                                       \
        DT_INT(struct lying, assign, .max = DT_MAX_REPLICAS,                                       \
               .set = 1 + offsetof(struct lying, has_assign),                                      \
               .help = "index of a logical device"),                                               \
        DT_FLAG(struct lying, replicate, .help = "keep a whole copy on every logical device")

static const dt_field value_fields[] = {LYING_FIELDS, DT_END};
static const char *const replicate_words[] = {"replicate", NULL};
static const dt_field other_keys[] = {DT_WORDS(replicate_words),
                                      DT_FORM(DT_FIELD_TABLE, .table = value_fields), DT_END};
static const dt_field rule_fields[] = {
    DT_TEXT(struct lying, match, .min = 1, .max = LONGEST_MATCH, .required = true,
            .help = "pattern of weight paths: *, ?, [...], {a,b}"),
    LYING_FIELDS, DT_END};

/* Reads the layout if the mapping has exactly one of split, assign and replicate. Else returns
 * false, as for `replicate: false` and `assign: null`. */
static bool read_only_one(const dt_tree *t, const struct lying *x, dt_lying *out) {
    const dt_tree *split = dt_tree_get(t, "split"), *assign = dt_tree_get(t, "assign"),
                  *replicate = dt_tree_get(t, "replicate");

    if ((split != NULL) + (assign != NULL) + (replicate != NULL) != 1 ||
        (replicate && !x->replicate) || (assign && !x->has_assign))
        return false;
    *out = split    ? (dt_lying){.kind = DT_SHARDING_OTHER, .parts = x->split, .tree = split}
           : assign ? (dt_lying){.kind = DT_SHARDING_MAXIMAL, .device = x->assign, .tree = assign}
                    : (dt_lying){.kind = DT_SHARDING_REPLICATED, .tree = replicate};
    return true;
}

/* ---- values ---- */

/* Reads `split: [1, 2]`, `assign: 1`, `replicate: true`, or the word replicate. */
static dt_status *read_value(dt_arena *arena, const dt_entry *e, dt_job_value *out) {
    const dt_tree *t = e->value;
    struct lying x;

    *out = (dt_job_value){
        .name = e->key, .at = e->key_at, .how = {.kind = DT_SHARDING_REPLICATED, .tree = t}};
    if (t->kind == DT_TREE_SCALAR && strcmp(t->text, "replicate") == 0) return NULL;
    if (t->kind == DT_TREE_MAP && t->n == 1) {
        DT_TRY(dt_fields_read(arena, value_fields, t, &t->at, e->key, &x));
        if (read_only_one(t, &x, &out->how)) return NULL;
    }
    return dt_fail(DT_E_PARTITION, &t->at,
                   "partition of '%.80s' must be replicate, {split: [...]} or {assign: N}", e->key);
}

/* ---- rules for weights ---- */

static dt_status *read_match(dt_arena *arena, const dt_tree *t, const struct lying *x,
                             dt_job_rule *out) {
    out->match = x->match;
    out->at = dt_tree_get(t, "match")->at;
    out->n = dt_glob_expand(arena, x->match, MOST_PATTERNS, &out->pattern);
    if (out->n == DT_GLOB_OPEN)
        return dt_fail(DT_E_PARTITION, &out->at, "match: '{' is never closed in '%s'", x->match);
    if (out->n == DT_GLOB_MANY)
        return dt_fail(DT_E_PARTITION, &out->at,
                       "match: the groups of '%s' expand to more than %d patterns", x->match,
                       MOST_PATTERNS);
    return NULL;
}

static dt_status *read_rule(dt_arena *arena, const dt_tree *t, const struct lying *x,
                            dt_job_rule *out) {
    DT_TRY(read_match(arena, t, x, out));
    if (read_only_one(t, x, &out->how)) return NULL;
    return dt_fail(
        DT_E_PARTITION, &t->at,
        "a rule of weights has a match and one of split: [...], replicate: true and assign: N");
}

static dt_status *read_rules(dt_arena *arena, const dt_items *rules, dt_job_partition *out) {
    const struct lying *x = rules->v;
    dt_status *faults = NULL;

    out->rule = dt_arena_array(arena, dt_job_rule, rules->n + 1);
    for (int i = 0; i < rules->n; i++) {
        dt_status *bad = read_rule(arena, rules->entry[i].value, &x[i], &out->rule[out->n_rules]);
        out->n_rules += bad == NULL;
        dt_status_append(&faults, bad);
    }
    return faults;
}

/* ---- the whole section ---- */

struct reserved {
    dt_items weights; /* a list of struct lying: the rules for weights */
    int over_replicas;
    int64_t micro_batches;
    bool sequence_parallel, collective_products;
    dt_location over_at, micro_at;
};
static const dt_field reserved_fields[] = {
    DT_FIELD(ONE_OF, struct reserved, weights,
             .forms =
                 DT_FORMS(DT_LIST_AS(struct lying, DT_FORM(DT_FIELD_TABLE, .table = rule_fields))),
             .help = "[{match: GLOB, split: [...]}, ...]: the first matching rule applies"),
    DT_ENUM(struct reserved, over_replicas, dt_over_replicas_names, DT_AT(struct reserved, over_at),
            .help = "what to divide among replicas: none, optimizer (state), or weights"),
    DT_INT(struct reserved, micro_batches, .min = 1, .max = DT_MAX_REPLICAS, .preset = "1",
           DT_AT(struct reserved, micro_at),
           .help = "number of micro-batches in a pipeline of layers"),
    DT_FLAG(struct reserved, sequence_parallel,
            .help = "divide what KerasHub's blocks compute between their products along the "
                    "sequence, over all logical devices of a replica"),
    DT_FLAG(struct reserved, collective_products,
            .help =
                "plan as compilers do that move pieces of a product's operand or result between "
                "a replica's devices while they multiply others"),
    DT_END};

static bool is_reserved(const char *key) {
    for (const dt_field *f = reserved_fields; f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, key) == 0) return true;
    return false;
}

/* Returns the entries of t whose keys are reserved, or those whose keys are not. Entries that are
 * null are left out. */
static dt_tree pick(dt_arena *arena, const dt_tree *t, bool reserved) {
    dt_tree some = *t;

    some.entry = dt_arena_array(arena, dt_entry, t->n + 1);
    some.n = 0;
    for (int i = 0; i < t->n; i++)
        if (is_reserved(t->entry[i].key) == reserved && t->entry[i].value->kind != DT_TREE_NULL)
            some.entry[some.n++] = t->entry[i];
    return some;
}

static dt_status *read_reserved(dt_job *j, const dt_tree *t, dt_job_partition *out) {
    const dt_tree keys = pick(j->arena, t, true);
    struct reserved x;
    dt_status *faults = dt_fields_read(j->arena, reserved_fields, &keys, &t->at, "partition", &x);

    j->how.over_replicas = (dt_over_replicas)x.over_replicas;
    j->how.micro_batches = (int)x.micro_batches;
    out->sequence_parallel = x.sequence_parallel;
    out->collective_products = x.collective_products;
    out->over_at = x.over_at;
    out->micro_at = x.micro_at;
    dt_status_append(&faults, read_rules(j->arena, &x.weights, out));
    return faults;
}

dt_status *dt_job_partition_read(dt_job *j, const dt_tree *t, const dt_location *key) {
    dt_job_partition *p = j->partition = dt_arena_new(j->arena, dt_job_partition);
    const dt_tree values = pick(j->arena, t, false);
    dt_status *faults = NULL;

    p->at = *key;
    p->value = dt_arena_array(j->arena, dt_job_value, values.n + 1);
    for (int i = 0; i < values.n; i++) {
        dt_status *bad = read_value(j->arena, &values.entry[i], &p->value[p->n_values]);
        p->n_values += bad == NULL;
        dt_status_append(&faults, bad);
    }
    dt_status_append(&faults, read_reserved(j, t, p));
    return faults;
}

const dt_field *dt_partition_fields(const dt_field **others) {
    *others = other_keys;
    return reserved_fields;
}
