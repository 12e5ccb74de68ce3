/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a model: read.c reads layers and follows shapes, inputs.c finds the inputs of layers,
 * outputs.c the model's outputs. */
#ifndef DT_MODEL_READ_H
#define DT_MODEL_READ_H

#include "base/hash_index.h"
#include "model/model.h"

typedef struct dt_sources {
    int n;           /* number of inputs; 0: an Input, or unknown because of an error */
    const int *from; /* [n] indices of earlier layers, whose outputs are the inputs */
} dt_sources;

typedef struct dt_model_reader {
    dt_arena *arena;
    const dt_tree *list;
    const int *turn; /* [n] the turn of each layer: dt_layer_spec.turn */
    bool functional;
    dt_texts outputs; /* names of the output layers; v NULL: the last layer is the output */
    dt_location outputs_at;
    dt_named *named;   /* [n] the layers; kind NULL: the layer could not be read */
    const char **name; /* [n] names of the layers; NULL: the layer could not be read */
    /* finds layers that were read so far by their names; of equal names, the first layer */
    dt_hash_index names;
    int missing;              /* number of inputs reported so far that name a later layer or none */
    bool is_one_faulty;       /* whether a layer could not be read, so that its name is unknown */
    dt_named *within;         /* [n] the layer that layer i wraps; kind NULL: none */
    const char **within_name; /* [n] names of the layers in `within` */
    /* [rows]: for each kind, the number of layers that were named automatically so far */
    int *unnamed;
    dt_sources *source;   /* [n] from which layers each layer takes its inputs */
    dt_layer_spec *layer; /* [n] the layers, as far as they have been built */
    bool *built;          /* [n] whether the layer was built without errors */
} dt_model_reader;

/* Returns the head of the arguments of layer i. */
static inline const dt_layer_head *dt_reader_head(const dt_model_reader *r, int i) {
    return r->named[i].args;
}

static inline bool dt_reader_is_input(const dt_model_reader *r, int i) {
    return r->named[i].kind == &dt_layer_input.kind;
}

/* Adds a LayerOutput for each "LAYER/OUTPUT" that layers or the model's outputs name: before the
 * first layer that reads it, or at the end. turn: as in dt_layers_expand. */
void dt_layers_add_outputs(dt_arena *arena, const dt_texts *outputs, const dt_tree **layers,
                           const int **turn);
/* Sets r->source[i]. Layers 0 to i must have been read. Fails with MODEL_INPUTS. */
dt_status *dt_read_inputs(dt_model_reader *r, int i) DT_MUST_USE;
/* Sets *n and layer[n] to the indices of the layers that are outputs. In a functional model, checks
 * that every other layer is used. All layers must be read. Fails with MODEL_INPUTS. */
dt_status *dt_read_outputs(const dt_model_reader *r, int *n, int layer[DT_MAX_OUTPUTS]) DT_MUST_USE;
/* Returns the index of the layer of that name among the first n; -1: no such layer. */
int dt_reader_find(const dt_model_reader *r, const char *name, int n);

#endif
