/* SPDX-License-Identifier: Apache-2.0 */
/* What rematerialization works on: blocks of layers, and the values that a policy keeps of them. */
#include "op/op.h"
#include "train/trainer.h"

static void list_kept(const dt_rematerialize *r, dt_arena *arena, dt_layer_units *u) {
    dt_kept_value *kept = dt_arena_array(arena, dt_kept_value, DT_REMAT_PRODUCTS + 1);
    const unsigned all = r->save | r->offload;
    for (int k = 0; k < DT_REMAT_PRODUCTS; k++)
        if (all & dt_remat_products[k].value)
            kept[u->n_kept++] =
                (dt_kept_value){.weight = dt_remat_products[k].layer,
                                .on_host = (r->offload & dt_remat_products[k].value) != 0};
    if (all & DT_REMAT_CONTEXT)
        kept[u->n_kept++] = (dt_kept_value){.op = &dt_op_attention,
                                            .on_host = (r->offload & DT_REMAT_CONTEXT) != 0};
    u->kept = kept;
    u->inputs_on_host = (r->offload & DT_REMAT_LAYER_INPUT) != 0;
}

dt_layer_units dt_trainer_units(const dt_trainer *t) {
    const dt_model_spec *m = &t->o.model->spec;
    const char **layer = dt_arena_array(t->arena, const char *, m->n_layers);
    int *unit = dt_arena_array(t->arena, int, m->n_layers);
    dt_layer_units u = {.layer = layer, .unit = unit};
    bool repeats = false;

    for (int i = 0; i < m->n_layers; i++) repeats |= m->layer[i].turn > 0;
    for (int i = 0; i < m->n_layers; i++)
        if (m->layer[i].n_in > 0 && (!repeats || m->layer[i].turn > 0)) {
            layer[u.n] = m->layer[i].name;
            unit[u.n++] = repeats ? m->layer[i].turn : i;
        }
    list_kept(&m->rematerialize, t->arena, &u);
    return u;
}
