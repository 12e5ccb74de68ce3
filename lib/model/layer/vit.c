/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ViTPatchingAndEmbedding: an image as a sequence of patch embeddings: (B, height, width, channels)
 * to (B, steps, hidden_dim). Each patch becomes a step by a product with one kernel. With
 * use_class_token a learned class token comes first. Learned vectors of the positions are added to
 * all steps. The layer is KerasHub's. A. Dosovitskiy et al., An Image is Worth 16x16 Words (2021).
 */
#include "model/layer/parts.h"

struct patching {
    dt_layer_head head;
    dt_ints image_size;
    const dt_tree *patch_size;
    int64_t hidden_dim, num_channels;
    bool use_class_token, use_patch_bias;
};

static const dt_field fields[] = {
    DT_INTS(struct patching, image_size, .min = 1, .max = INFINITY, .required = true,
            .help = "[height, width]"),
    DT_TREE(struct patching, patch_size,
            .forms = DT_FORMS(DT_FORM(DT_FIELD_INT), DT_FORM(DT_FIELD_INTS)), .required = true,
            .help = "[height, width] of a patch"),
    DT_INT(struct patching, hidden_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "number of features"),
    DT_INT(struct patching, num_channels, .min = 1, .max = INFINITY, .preset = "3",
           .help = "number of channels of an image"),
    DT_FLAG(struct patching, use_class_token, .preset = "true",
            .help = "prepend a learned class token to the patches"),
    DT_FLAG(struct patching, use_patch_bias, .preset = "true", .help = "add a bias"),
    DT_LAYER_FIELDS(struct patching),
    DT_ONLY("data_format", "channels_last"),
    DT_END};

typedef struct parts {
    dt_layer_part patch, position;
    dt_type patches; /* shape (B, h w, hidden_dim) */
} parts;

static dt_status *check_picture(const dt_layer_build *b) {
    const struct patching *p = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "ViTPatchingAndEmbedding", 4, "(B, height, width, channels)"));
    if (p->image_size.n != 2)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "image_size has %d numbers; expected [height, width]", p->image_size.n);
    if (p->image_size.v[0] == b->in.dim[1] && p->image_size.v[1] == b->in.dim[2] &&
        p->num_channels == b->in.dim[3])
        return NULL;
    return dt_fail(
        DT_E_MODEL_SHAPE, &b->at,
        "the image is %lldx%lldx%lld, but image_size and num_channels give %lldx%lldx%lld",
        (long long)b->in.dim[1], (long long)b->in.dim[2], (long long)b->in.dim[3],
        (long long)p->image_size.v[0], (long long)p->image_size.v[1], (long long)p->num_channels);
}

static dt_status *build_class_token(dt_layer_build *b) {
    const struct patching *p = b->args;
    if (!p->use_class_token) return NULL;
    return dt_layer_weight(b, &(dt_weight_request){.name = "class_token",
                                                   .dtype = b->in.dtype,
                                                   .rank = 3,
                                                   .dim = {1, 1, p->hidden_dim},
                                                   .preset = "random_normal"});
}

static dt_status *build_patches(dt_layer_build *b, parts *made) {
    const struct patching *p = b->args;
    DT_TRY(dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_conv2d,
            .name = "patch_embedding",
            .in = b->in,
            .arg = {{"filters", dt_part_int(b, p->hidden_dim)},
                    {"kernel_size", p->patch_size},
                    {"strides", p->patch_size},
                    {"use_bias", dt_part_word(b, p->use_patch_bias ? "true" : "false")}},
        },
        &made->patch));
    const dt_type *grid = &made->patch.out;
    made->patches = dt_type_of(
        grid->dtype, 3, (int64_t[]){grid->dim[0], grid->dim[1] * grid->dim[2], p->hidden_dim});
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct patching *p = b->args;
    parts *made = dt_arena_new(b->arena, parts);
    DT_TRY(check_picture(b));
    DT_TRY(build_class_token(b));
    DT_TRY(build_patches(b, made));
    b->made = made;
    b->out = made->patches;
    b->out.dim[1] += p->use_class_token;
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_position_embedding,
                             .name = "position_embedding",
                             .in = b->out,
                             .arg = {{"sequence_length", dt_part_int(b, b->out.dim[1])},
                                     {"initializer", dt_part_kind(b, "RandomNormal", "stddev",
                                                                  dt_part_real(b, 0.02))}},
                         },
                         &made->position);
}

static dt_value call(const dt_layer_call *c) {
    const struct patching *p = c->args;
    const parts *made = c->made;
    dt_value x = dt_reshape(dt_part_call(c, &made->patch, c->x), 3, made->patches.dim);
    if (p->use_class_token) {
        dt_type one = made->patches;
        one.dim[1] = 1;
        x = dt_concatenate(
            (dt_value[]){dt_broadcast_to(dt_convert(c->weight[0], dt_type_of_value(x).dtype), &one),
                         x},
            2, 1);
    }
    return dt_add(x, dt_part_call(c, &made->position, x));
}

const dt_layer dt_layer_vit_patching_and_embedding = {
    .kind = {"ViTPatchingAndEmbedding", "an image as a sequence of embedded patches", fields,
             sizeof(struct patching), NULL},
    .precision = DT_LAYER_BY_PARTS,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};
