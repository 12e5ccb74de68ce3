/* SPDX-License-Identifier: Apache-2.0 */
/* The table of losses: DT_LOSS_ROW(name), in files of lib/model/loss, kin in one file. No include guard. */
DT_LOSS_ROW(sparse_categorical_crossentropy) DT_LOSS_ROW(categorical_crossentropy) DT_LOSS_ROW(binary_crossentropy)
DT_LOSS_ROW(mean_squared_error) DT_LOSS_ROW(mean_absolute_error)
DT_LOSS_ROW(mean_absolute_percentage_error) DT_LOSS_ROW(mean_squared_logarithmic_error) DT_LOSS_ROW(huber) DT_LOSS_ROW(log_cosh)
DT_LOSS_ROW(categorical_focal_crossentropy) DT_LOSS_ROW(binary_focal_crossentropy)
DT_LOSS_ROW(kl_divergence) DT_LOSS_ROW(poisson) DT_LOSS_ROW(cosine_similarity)
DT_LOSS_ROW(hinge) DT_LOSS_ROW(squared_hinge) DT_LOSS_ROW(categorical_hinge) DT_LOSS_ROW(dice) DT_LOSS_ROW(tversky)
DT_LOSS_ROW(generalized_crossentropy)
