/*
 * The table of steps, reading lists of them, and plans. A step knows its arguments, what type it makes of what, and how to turn
 * one example; everything else goes over rows of the table. A new step is one more row.
 */
#include "data/map.h"

#include <string.h>

#include "data/cast.h"

/* One step of a plan: a row with its arguments, applied to one example. */
typedef struct stage {
    const struct step *step;
    const void *args;
    dt_type in, out;
    int64_t values; /* of in */
} stage;

typedef struct step {
    dt_kind kind;
    const char *only;                  /* the argument that a bare value stands for; NULL: none */
    bool integers;                     /* takes integers only */
    void (*infer)(stage *s);           /* out from in */
    void (*run)(const stage *s, const void *in, void *out);
    int64_t (*classes)(const void *args); /* its input must lie in [0, classes); NULL: any */
} step;

/* ---- the steps ---- */

static const char *const dtype_names[] = {"bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", NULL};

struct cast { int dtype; };

static const dt_field cast_fields[] = {
    DT_ENUM(struct cast, dtype, dtype_names, .required = true, .help = "type of the values from here on"),
    DT_END
};

static void cast_infer(stage *s)
{
    s->out.dtype = (dt_dtype)((const struct cast *)s->args)->dtype;
}

static void cast_run(const stage *s, const void *in, void *out)
{
    dt_cast(s->in.dtype, s->out.dtype, in, out, s->values);
}

static const step step_cast = {
    .kind = {"cast", "values of another type; floats become integers towards zero", cast_fields, sizeof(struct cast), NULL},
    .only = "dtype",
    .infer = cast_infer,
    .run = cast_run,
};

struct rescale { double scale, offset; };

static const dt_field rescale_fields[] = {
    DT_REAL(struct rescale, scale, .preset = "1", .help = "factor"),
    DT_REAL(struct rescale, offset, .preset = "0", .help = "added after it"),
    DT_END
};

static void rescale_infer(stage *s)
{
    s->out.dtype = DT_FLOAT32;
}

static void rescale_run(const stage *s, const void *in, void *out)
{
    const struct rescale *a = s->args;
    dt_rescale(s->in.dtype, (float)a->scale, (float)a->offset, in, out, s->values);
}

static const step step_rescale = {
    .kind = {"rescale", "float32 values x * scale + offset, as Keras' Rescaling", rescale_fields, sizeof(struct rescale), NULL},
    .infer = rescale_infer,
    .run = rescale_run,
};

struct one_hot { int64_t num_classes; };

static const dt_field one_hot_fields[] = {
    DT_INT(struct one_hot, num_classes, .min = 1, .max = 1 << 24, .required = true, .help = "labels lie in [0, num_classes)"),
    DT_END
};

static int64_t one_hot_classes(const void *args)
{
    return ((const struct one_hot *)args)->num_classes;
}

static void one_hot_infer(stage *s)
{
    s->out.dtype = DT_FLOAT32;
    s->out.dim[s->out.rank++] = one_hot_classes(s->args);
}

static void one_hot_run(const stage *s, const void *in, void *out)
{
    dt_one_hot(s->in.dtype, one_hot_classes(s->args), in, out, s->values);
}

static const step step_one_hot = {
    .kind = {"one_hot", "a new last axis of float32: 1 at the label, 0 elsewhere", one_hot_fields, sizeof(struct one_hot), NULL},
    .only = "num_classes",
    .integers = true,
    .infer = one_hot_infer,
    .run = one_hot_run,
    .classes = one_hot_classes,
};

/* Every step that a job file can name. */
static const step *const steps[] = {&step_cast, &step_rescale, &step_one_hot};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- reading ---- */

typedef struct chain {
    const char *name;
    int n;
    const dt_named *step; /* (n) */
} chain;

struct dt_map {
    int n;
    chain *chains; /* (n) */
};

static const step *step_named(const char *name)
{
    for (int i = 0; i < STEPS; i++)
        if (strcmp(steps[i]->kind.name, name) == 0)
            return steps[i];
    return NULL;
}

/* {name: value} with the bare value written as the mapping that it is short for: {name: {only: value}}. */
static const dt_tree *in_full(dt_arena *arena, const dt_tree *t)
{
    const step *row = t->kind == DT_TREE_MAP && t->n == 1 ? step_named(t->entry[0].key) : NULL;
    if (!row || !row->only || t->entry[0].value->kind != DT_TREE_SCALAR)
        return t;
    dt_tree *args = dt_arena_copy(arena, t->entry[0].value, sizeof *args);
    dt_tree *whole = dt_arena_copy(arena, t, sizeof *whole);
    args->kind = DT_TREE_MAP;
    args->n = 1;
    args->entry = dt_arena_copy(arena, t->entry, sizeof *args->entry);
    args->entry->key = row->only;
    whole->entry = dt_arena_copy(arena, t->entry, sizeof *whole->entry);
    whole->entry->value = args;
    return whole;
}

static dt_status *read_chain(dt_arena *arena, const dt_entry *e, chain *out)
{
    const dt_kind *kinds[STEPS];
    dt_status *s = NULL;
    for (int i = 0; i < STEPS; i++)
        kinds[i] = &steps[i]->kind;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_LIST, e->key));
    dt_named *named = dt_arena_array(arena, dt_named, e->value->n);
    for (int i = 0; i < e->value->n; i++)
        dt_status_append(&s, dt_named_read(arena, kinds, STEPS, "map step", in_full(arena, e->value->item[i]), &named[i]));
    *out = (chain){.name = e->key, .n = e->value->n, .step = named};
    return s;
}

bool dt_texts_have(const dt_texts *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0)
            return true;
    return false;
}

static dt_status *check_name(const dt_entry *e, const dt_texts *names)
{
    if (names->n == 0 || dt_texts_have(names, e->key))
        return NULL;
    dt_status *s = dt_fail(DT_E_DATASET_KEYS, &e->key_at, "map names '%s', which is no element of the data", e->key);
    const char *near = dt_nearest(e->key, names->v, names->n);
    return near ? dt_suggest(s, "did you mean '%s'?", near) : s;
}

dt_status *dt_map_read(dt_arena *arena, const dt_tree *t, const dt_texts *names, const dt_map **out)
{
    dt_map *m = dt_arena_new(arena, dt_map);
    dt_status *s = NULL;
    *out = m;
    if (!t || t->kind == DT_TREE_NULL)
        return NULL;
    DT_TRY(dt_tree_expect(t, DT_TREE_MAP, "map"));
    m->n = t->n;
    m->chains = dt_arena_array(arena, chain, t->n);
    for (int i = 0; i < t->n; i++) {
        dt_status_append(&s, check_name(&t->entry[i], names));
        dt_status_append(&s, read_chain(arena, &t->entry[i], &m->chains[i]));
    }
    return s;
}

/* ---- plans ---- */

struct dt_map_plan {
    dt_type type;
    int64_t in_bytes, widest; /* bytes of an example: as stored; at its largest, rounded up to keep alignment */
    int n, n_limits;
    stage *stages;
    dt_map_limit *limits;
};

static const chain *find_chain(const dt_map *m, const char *name)
{
    static const chain none;
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->chains[i].name, name) == 0)
            return &m->chains[i];
    return &none;
}

/* A rescale reads any type as float32, so a cast to that before it is left out: one pass over the values instead of two. */
static bool is_redundant(const chain *c, int i)
{
    return steps[c->step[i].row] == &step_cast && ((const struct cast *)c->step[i].args)->dtype == DT_FLOAT32 &&
           i + 1 < c->n && steps[c->step[i + 1].row] == &step_rescale;
}

static dt_status *check_stage(const stage *s, const dt_named *named, const char *file)
{
    const char *name = s->step->kind.name;
    if (s->step->integers && dt_dtype_is_float(s->in.dtype))
        return dt_fail(DT_E_DATA_TYPE, &named->at, "%s: %s needs integers, got %s", file, name, dt_dtype_name(s->in.dtype));
    if (s->out.rank == DT_MAX_RANK)
        return dt_fail(DT_E_DATA_SHAPE, &named->at, "%s: %s gives %d dimensions and the batch; at most %d in all", file, name,
                       s->out.rank, DT_MAX_RANK);
    return NULL;
}

/* A copy of the plan as it is now, before the step that is about to be added. */
static void add_limit(dt_arena *arena, dt_map_plan *p, int64_t classes)
{
    p->limits[p->n_limits++] = (dt_map_limit){.before = dt_arena_copy(arena, p, sizeof *p), .classes = classes};
}

static int64_t wider(int64_t widest, const dt_type *t)
{
    int64_t bytes = dt_type_bytes(t);
    return bytes <= widest ? widest : bytes > INT64_MAX / 4 ? INT64_MAX / 4 : (bytes + 63) & ~(int64_t)63;
}

static dt_status *add_stage(dt_arena *arena, dt_map_plan *p, const dt_named *named, const char *file)
{
    stage *s = &p->stages[p->n];
    *s = (stage){.step = steps[named->row], .args = named->args, .in = p->type, .out = p->type};
    s->values = dt_type_elements(&p->type);
    s->step->infer(s);
    DT_TRY(check_stage(s, named, file));
    if (s->step->classes)
        add_limit(arena, p, s->step->classes(s->args));
    p->type = s->out;
    p->widest = wider(p->widest, &p->type);
    p->n++;
    return NULL;
}

dt_status *dt_map_plan_make(dt_arena *arena, const dt_map *m, const char *name, const dt_type *in, const char *file,
                            const dt_map_plan **out)
{
    const chain *c = find_chain(m, name);
    dt_map_plan *p = dt_arena_new(arena, dt_map_plan);
    *p = (dt_map_plan){.type = *in, .in_bytes = dt_type_bytes(in)};
    p->stages = dt_arena_array(arena, stage, c->n);
    p->limits = dt_arena_array(arena, dt_map_limit, c->n);
    for (int i = 0; i < c->n; i++)
        if (!is_redundant(c, i))
            DT_TRY(add_stage(arena, p, &c->step[i], file));
    *out = p;
    return NULL;
}

bool dt_map_plan_is_empty(const dt_map_plan *p)
{
    return p->n == 0;
}

const dt_type *dt_map_plan_type(const dt_map_plan *p)
{
    return &p->type;
}

int dt_map_plan_limits(const dt_map_plan *p, const dt_map_limit **limits)
{
    *limits = p->limits;
    return p->n_limits;
}

int64_t dt_map_plan_scratch(const dt_map_plan *p)
{
    return p->n > 1 ? 2 * p->widest : 0;
}

/* Between steps an example goes back and forth between the halves of the scratch. */
void dt_map_run(const dt_map_plan *p, const void *in, void *out, void *scratch)
{
    if (p->n == 0)
        memcpy(out, in, (size_t)p->in_bytes);
    for (int i = 0; i < p->n; i++) {
        void *to = i == p->n - 1 ? out : (char *)scratch + (i % 2) * p->widest;
        p->stages[i].step->run(&p->stages[i], in, to);
        in = to;
    }
}
