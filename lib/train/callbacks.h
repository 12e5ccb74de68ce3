/* The table of callbacks: DT_CALLBACK_ROW(name), a file each in lib/train/callback. No include guard. */
DT_CALLBACK_ROW(early_stopping) DT_CALLBACK_ROW(generate_text) DT_CALLBACK_ROW(terminate_on_nan)
