/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of strategies. DT_STRATEGY_ROW(name) is defined in lib/strategy/<name>.c. `default` is a
 * C keyword, so its row is called default_.
 */
DT_STRATEGY_ROW(default_)
DT_STRATEGY_ROW(one_device)
DT_STRATEGY_ROW(mirrored)
DT_STRATEGY_ROW(multi_worker_mirrored)
DT_STRATEGY_ROW(parameter_server)
DT_STRATEGY_ROW(tpu)
