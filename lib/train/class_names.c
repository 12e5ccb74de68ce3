/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of classes: targets have them from a vocabulary, from folders or from columns, and
 * checkpoints keep them. So predictions and exported models can name classes without the data.
 *
 *     {"logits": ["circle", "cross", "ring"]}
 */
#include <string.h>

#include "base/json.h"
#include "file/json_read.h"
#include "train/train.h"

/* Whether the output's size fits the names: one value for each class, or a single value for two. */
static bool fit(const dt_texts *names, const dt_type *output) {
    const int64_t last = output->dim[output->rank - 1];
    return output->rank <= 2 && names->n <= (output->rank < 2 || last == 1 ? 2 : last);
}

void dt_class_names_of(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m,
                       dt_class_names *out) {
    const dt_element_spec *element;
    *out = (dt_class_names){0};
    dt_dataset_elements(d, &element);
    for (int i = 0; i < c->n_outputs; i++) {
        /* every row begins with its dt_kind */
        const dt_loss_row *loss = (const dt_loss_row *)c->output[i].loss.kind;
        if (loss && loss->of != DT_OUTPUT_VALUES && m->target[i] >= 0)
            out->of[i] = element[m->target[i]].names;
    }
}

const char *dt_class_names_print(const dt_class_names *n, const dt_model_spec *m, dt_arena *arena) {
    dt_local_str out = {0};
    dt_json j = {.out = &out};
    bool any = false;
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < m->n_outputs; i++) {
        if (n->of[i].n == 0 || !fit(&n->of[i], &m->output[i].type)) continue;
        any = true;
        dt_json_strings(&j, m->output[i].name, n->of[i].v, n->of[i].n);
    }
    dt_json_close(&j, '}');
    return any ? dt_arena_strdup(arena, dt_str_text(&out)) : NULL;
}

dt_status *dt_class_names_read(const dt_saved *c, const dt_model_spec *m, dt_arena *arena,
                               dt_class_names *out) {
    json_t *root = NULL;
    bool ok = true;
    *out = (dt_class_names){0};
    if (!c->state.classes) return NULL;
    const dt_json_text text = {.path = c->path,
                               .part = "'classes' of state.json",
                               .member = "output",
                               .text = c->state.classes,
                               .size = strlen(c->state.classes),
                               .fault = DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &root));
    for (int i = 0; ok && i < m->n_outputs; i++) {
        ok = dt_json_texts(arena, json_object_get(root, m->output[i].name), &out->of[i]);
        if (!fit(&out->of[i], &m->output[i].type))
            /* the checkpoint belongs to another model, which is reported when its weights are
             * read */
            out->of[i] = (dt_texts){0};
    }
    json_decref(root);
    return ok ? NULL
              : dt_fail(DT_E_CHECKPOINT, NULL,
                        "%s/state.json: 'classes' must hold a list of names for each output",
                        c->path);
}
