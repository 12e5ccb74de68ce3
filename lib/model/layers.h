/* The table of layers: DT_LAYER_ROW(name), in lib/model/layer/: a file each, or for a few that are one thing. No include guard. */
DT_LAYER_ROW(input) DT_LAYER_ROW(flatten) DT_LAYER_ROW(dense) DT_LAYER_ROW(relu) DT_LAYER_ROW(softmax)
DT_LAYER_ROW(batch_normalization) DT_LAYER_ROW(layer_normalization) DT_LAYER_ROW(group_normalization) DT_LAYER_ROW(rms_normalization)
DT_LAYER_ROW(unit_normalization)
DT_LAYER_ROW(embedding)
DT_LAYER_ROW(dropout) DT_LAYER_ROW(spatial_dropout_1d) DT_LAYER_ROW(spatial_dropout_2d) DT_LAYER_ROW(spatial_dropout_3d)
DT_LAYER_ROW(gaussian_noise) DT_LAYER_ROW(gaussian_dropout)
DT_LAYER_ROW(multi_head_attention)
DT_LAYER_ROW(lstm) DT_LAYER_ROW(gru) DT_LAYER_ROW(simple_rnn)
