/* The list of callbacks: read, checked, and asked in its order. See callback.h. */
#include "train/callback.h"

#include <string.h>

static const dt_kind *const rows[] = {
#define DT_CALLBACK_ROW(name) &dt_callback_##name.kind,
#include "train/callbacks.h"
#undef DT_CALLBACK_ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

const dt_kind *const *dt_callback_kinds(int *n)
{
    *n = ROWS;
    return rows;
}

/* ---- reading ---- */

static const char *name_of(const dt_tree *item)
{
    if (item->kind == DT_TREE_SCALAR)
        return item->text;
    return item->kind == DT_TREE_MAP && item->n > 0 ? item->entry[0].key : "";
}

static dt_status *read_one(dt_arena *arena, const dt_tree *item, dt_named *out)
{
    static const char *const later[] = {
        "BackupAndRestore", "CSVLogger", "EarlyStopping", "LambdaCallback", "LearningRateScheduler", "ModelCheckpoint", "ReduceLROnPlateau",
        "RemoteMonitor", "SwapEMAWeights", "TensorBoard",
    };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(name_of(item), later[i]) == 0)
            return dt_fail(DT_E_NOT_YET, &item->at, "callback '%s' is not implemented yet", later[i]);
    return dt_named_read(arena, rows, ROWS, "callback", item, out);
}

dt_status *dt_callbacks_read(dt_arena *arena, const dt_tree *list, dt_callbacks *out)
{
    dt_status *faults = NULL;
    int n = list && list->kind == DT_TREE_LIST ? list->n : 0;
    dt_named *named = dt_arena_array(arena, dt_named, n);
    for (int i = 0; i < n; i++) {
        dt_status *s = read_one(arena, list->item[i], &named[out->n]);
        out->n += s == NULL;
        dt_status_append(&faults, s);
    }
    out->named = named;
    return faults;
}

static const dt_callback_row *row_of(const dt_callbacks *c, int i)
{
    return (const dt_callback_row *)c->named[i].kind;
}

dt_status *dt_callbacks_check(const dt_callbacks *c, const dt_model_spec *model, const dt_dataset_spec *data)
{
    dt_status *faults = NULL;
    for (int i = 0; i < c->n; i++)
        if (row_of(c, i)->check)
            dt_status_append(&faults, row_of(c, i)->check(&c->named[i], model, data));
    return faults;
}

/* ---- a run ---- */

bool dt_callback_is_due(const run *r, int64_t every)
{
    if (r->q->fit->steps > 0)
        return r->at.step % every == 0;
    return r->at.epoch_step == 0 && r->at.epoch % every == 0;
}

dt_status *dt_callbacks_open(run *r)
{
    const dt_callbacks *c = &r->q->fit->callbacks;
    DT_TRY(dt_callbacks_check(c, &r->model->spec, dt_dataset_spec_of(r->data)));
    r->callback = dt_arena_array(r->arena, void *, c->n);
    for (int i = 0; i < c->n; i++)
        if (row_of(c, i)->open)
            DT_TRY(row_of(c, i)->open(r, &c->named[i], &r->callback[i]));
    return NULL;
}

dt_status *dt_callbacks_step(run *r)
{
    const dt_callbacks *c = &r->q->fit->callbacks;
    for (int i = 0; i < c->n; i++)
        if (row_of(c, i)->step)
            DT_TRY(row_of(c, i)->step(r, r->callback[i]));
    return NULL;
}

void dt_callbacks_close(run *r)
{
    const dt_callbacks *c = &r->q->fit->callbacks;
    for (int i = 0; r->callback && i < c->n; i++)
        if (row_of(c, i)->close)
            row_of(c, i)->close(r->callback[i]);
}
