/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs, in the order of the usage screen: VERB(name) is the row verb_<name>. No include guard. */
VERB(fit) VERB(evaluate) VERB(predict)
VERB(validate) VERB(plan) VERB(topology) VERB(explain)
VERB(config_show) VERB(config_schema) VERB(config_reference) VERB(config_diff) VERB(config_init)
VERB(report) VERB(devices) VERB(data_inspect) VERB(data_shards) VERB(data_convert) VERB(data_synth) VERB(lower) VERB(trace)
VERB(ckpt_ls) VERB(ckpt_inspect) VERB(ckpt_verify) VERB(ckpt_diff) VERB(ckpt_convert)
VERB(export) VERB(bench) VERB(doctor) VERB(completions) VERB(man) VERB(version) VERB(help)
