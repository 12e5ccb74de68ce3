/* SPDX-License-Identifier: Apache-2.0 */
/* The table of callbacks: DT_CALLBACK_ROW(name), a file each in lib/train/callback. No include
 * guard. */
DT_CALLBACK_ROW(csv_logger)
DT_CALLBACK_ROW(early_stopping)
DT_CALLBACK_ROW(generate_text)
DT_CALLBACK_ROW(learning_rate_scheduler)
DT_CALLBACK_ROW(model_checkpoint)
DT_CALLBACK_ROW(reduce_lr_on_plateau)
DT_CALLBACK_ROW(tensorboard)
DT_CALLBACK_ROW(terminate_on_nan)
DT_CALLBACK_ROW(swap_ema_weights)
