/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that normalise, look up, attend, recur and draw: names and shapes of their weights, what
 * they refuse, what they draw. (What they compute: tests/conformance.) */
#include "call.h"
#include "rig.h"

#define VECTOR "- Input: {name: x, shape: [6]}\n"
#define SEQUENCE "- Input: {name: x, shape: [5, 6]}\n"
#define WORDS "- Input: {name: x, shape: [5], dtype: int32}\n"

/* ---- weights ---- */

/* Every weight: "path shape", "*" behind those that are not trained; then the shape of the
 * output. */
static void describe(const dt_model_spec *m, dt_str *out) {
    for (int i = 0; i < m->n_weights; i++) {
        dt_str_printf(out, "%s ", m->weight[i]->path);
        dt_shape_print(&m->weight[i]->type, out);
        dt_str_puts(out, m->weight[i]->trainable ? "\n" : " *\n");
    }
    dt_shape_print(&m->output[0].type, out);
}

static void test_weights_are_keras(void **state) {
    (void)state;
    static const struct {
        const char *layers, *weights;
        int parameters;
    } rows[] = {
        {VECTOR "- BatchNormalization",
         "batch_normalization/gamma (6)\nbatch_normalization/beta "
         "(6)\nbatch_normalization/moving_mean (6) *\n"
         "batch_normalization/moving_variance (6) *\n(B, 6)",
         24},
        {VECTOR "- BatchNormalization: {scale: false, center: false, name: n}",
         "n/moving_mean (6) *\nn/moving_variance (6) *\n(B, 6)", 12},
        {SEQUENCE "- LayerNormalization: {axis: [1, 2]}",
         "layer_normalization/gamma (5, 6)\nlayer_normalization/beta (5, 6)\n(B, 5, 6)", 60},
        {SEQUENCE "- LayerNormalization: {scale: false}", "layer_normalization/beta (6)\n(B, 5, 6)",
         6},
        {SEQUENCE "- GroupNormalization: {groups: 3}",
         "group_normalization/gamma (6)\ngroup_normalization/beta (6)\n(B, 5, 6)", 12},
        {SEQUENCE "- RMSNormalization", "rms_normalization/scale (6)\n(B, 5, 6)", 6},
        {SEQUENCE "- UnitNormalization", "(B, 5, 6)", 0},
        {SEQUENCE "- PReLU: {shared_axes: []}", "p_re_lu/alpha (5, 6)\n(B, 5, 6)", 30},
        {SEQUENCE "- PReLU: {shared_axes: [1]}", "p_re_lu/alpha (1, 6)\n(B, 5, 6)", 6},
        {WORDS "- Embedding: {input_dim: 9, output_dim: 4}",
         "embedding/embeddings (9, 4)\n(B, 5, 4)", 36},
        {SEQUENCE "- MultiHeadAttention: {num_heads: 2, key_dim: 3, value_dim: 4, output_shape: 7, "
                  "use_gate: true, use_bias: false}",
         "multi_head_attention/query/kernel (6, 2, 3)\nmulti_head_attention/key/kernel (6, 2, "
         "3)\nmulti_head_attention/gate/kernel (6, 2, 4)\n"
         "multi_head_attention/value/kernel (6, 2, "
         "4)\nmulti_head_attention/attention_output/kernel (2, 4, 7)\n(B, 5, 7)",
         224},
        {SEQUENCE "- MultiHeadAttention: {num_heads: 2, key_dim: 1, output_shape: [2, 3], name: m}",
         "m/query/kernel (6, 2, 1)\nm/query/bias (2, 1)\nm/key/kernel (6, 2, 1)\nm/key/bias (2, "
         "1)\nm/value/kernel (6, 2, 1)\nm/value/bias (2, 1)\n"
         "m/attention_output/kernel (2, 1, 2, 3)\nm/attention_output/bias (2, 3)\n(B, 5, 2, 3)",
         60},
        {SEQUENCE "- GroupQueryAttention: {head_dim: 2, num_query_heads: 4, num_key_value_heads: "
                  "2, use_gate: true, dropout: 0.1}",
         "grouped_query_attention/query/kernel (6, 4, 2)\ngrouped_query_attention/query/bias (4, "
         "2)\ngrouped_query_attention/key/kernel (6, 2, 2)\n"
         "grouped_query_attention/key/bias (2, 2)\ngrouped_query_attention/gate/kernel (6, 4, "
         "2)\ngrouped_query_attention/gate/bias (4, 2)\n"
         "grouped_query_attention/value/kernel (6, 2, 2)\ngrouped_query_attention/value/bias (2, "
         "2)\n"
         "grouped_query_attention/attention_output/kernel (4, 2, "
         "6)\ngrouped_query_attention/attention_output/bias (6)\n"
         "grouped_query_attention/seed_generator/step () *\n(B, 5, 6)",
         222},
        {SEQUENCE "- RotaryEmbedding", "(B, 5, 6)", 0},
        {SEQUENCE "- LlamaTransformerDecoder: {intermediate_dim: 4, num_query_heads: 3, "
                  "num_key_value_heads: 1, dropout: 0.1, name: d}",
         "d/self_attention/query/kernel (6, 3, 2)\nd/self_attention/key/kernel (6, 1, "
         "2)\nd/self_attention/value/kernel (6, 1, 2)\n"
         "d/self_attention/attention_output/kernel (3, 2, 6)\nd/self_attention/seed_generator/step "
         "() *\nd/self_attention_layernorm/scale (6)\n"
         "d/self_attention_dropout/seed_generator/step () "
         "*\nd/feedforward_intermediate_dense/kernel (6, 4)\nd/feedforward_gate_dense/kernel (6, "
         "4)\n"
         "d/feedforward_output_dense/kernel (4, 6)\nd/feedforward_layernorm/scale (6)\n(B, 5, 6)",
         180},
        {SEQUENCE "- LlamaTransformerDecoder: {intermediate_dim: 4, num_query_heads: 1, "
                  "num_key_value_heads: 1, head_dim: 2, gated: false, name: d}",
         "d/self_attention/query/kernel (6, 1, 2)\nd/self_attention/key/kernel (6, 1, "
         "2)\nd/self_attention/value/kernel (6, 1, 2)\n"
         "d/self_attention/attention_output/kernel (1, 2, 6)\nd/self_attention_layernorm/scale "
         "(6)\nd/feedforward_intermediate_dense/kernel (6, 4)\n"
         "d/feedforward_output_dense/kernel (4, 6)\nd/feedforward_layernorm/scale (6)\n(B, 5, 6)",
         108},
        {"- Input: {name: x, shape: [4, 6, 3]}\n- ViTPatchingAndEmbedding: {image_size: [4, 6], "
         "patch_size: [2, 3], hidden_dim: 5, name: v}\n"
         "- Take: {indices: 0, axis: 1}",
         "v/class_token (1, 1, 5)\nv/patch_embedding/kernel (2, 3, 3, 5)\nv/patch_embedding/bias "
         "(5)\nv/position_embedding/embeddings (5, 5)\n(B, 5)",
         125},
        {SEQUENCE "- Take: {indices: -1, axis: -1}", "(B, 5)", 0},
        {SEQUENCE "- TransformerDecoder: {intermediate_dim: 4, num_heads: 2, name: d}",
         "d/self_attention/query/kernel (6, 2, 3)\nd/self_attention/query/bias (2, "
         "3)\nd/self_attention/key/kernel (6, 2, 3)\n"
         "d/self_attention/key/bias (2, 3)\nd/self_attention/value/kernel (6, 2, "
         "3)\nd/self_attention/value/bias (2, 3)\n"
         "d/self_attention/attention_output/kernel (2, 3, "
         "6)\nd/self_attention/attention_output/bias (6)\n"
         "d/self_attention_layer_norm/gamma (6)\nd/self_attention_layer_norm/beta "
         "(6)\nd/feedforward_intermediate_dense/kernel (6, 4)\n"
         "d/feedforward_intermediate_dense/bias (4)\nd/feedforward_output_dense/kernel (4, "
         "6)\nd/feedforward_output_dense/bias (6)\n"
         "d/feedforward_layer_norm/gamma (6)\nd/feedforward_layer_norm/beta (6)\n(B, 5, 6)",
         250},
        {SEQUENCE "- TransformerEncoder: {intermediate_dim: 1, num_heads: 5, name: e, dropout: "
                  "0.1, trainable: false}",
         "e/self_attention_layer/query/kernel (6, 5, 1) *\ne/self_attention_layer/query/bias (5, "
         "1) *\ne/self_attention_layer/key/kernel (6, 5, 1) *\n"
         "e/self_attention_layer/key/bias (5, 1) *\ne/self_attention_layer/value/kernel (6, 5, 1) "
         "*\ne/self_attention_layer/value/bias (5, 1) *\n"
         "e/self_attention_layer/attention_output/kernel (5, 1, 6) "
         "*\ne/self_attention_layer/attention_output/bias (6) *\n"
         "e/self_attention_layer/seed_generator/step () *\ne/self_attention_layer_norm/gamma (6) "
         "*\ne/self_attention_layer_norm/beta (6) *\n"
         "e/self_attention_dropout/seed_generator/step () *\ne/feedforward_layer_norm/gamma (6) "
         "*\ne/feedforward_layer_norm/beta (6) *\n"
         "e/feedforward_intermediate_dense/kernel (6, 1) *\ne/feedforward_intermediate_dense/bias "
         "(1) *\n"
         "e/feedforward_output_dense/kernel (1, 6) *\ne/feedforward_output_dense/bias (6) "
         "*\ne/feedforward_dropout/seed_generator/step () *\n"
         "(B, 5, 6)",
         184},
        {SEQUENCE "- PositionEmbedding: {sequence_length: 9}",
         "position_embedding/embeddings (9, 6)\n(B, 5, 6)", 54},
        {WORDS "- TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 7, "
               "embedding_dim: 2, name: e}\n- Tied: {to: e/token_embedding}",
         "e/token_embedding/embeddings (9, 2)\ne/position_embedding/embeddings (7, 2)\n(B, 5, 9)",
         32},
        {SEQUENCE "- LSTM: {units: 3, return_sequences: true}",
         "lstm/lstm_cell/kernel (6, 12)\nlstm/lstm_cell/recurrent_kernel (3, "
         "12)\nlstm/lstm_cell/bias (12)\n(B, 5, 3)",
         120},
        {SEQUENCE "- GRU: {units: 3}",
         "gru/gru_cell/kernel (6, 9)\ngru/gru_cell/recurrent_kernel (3, 9)\ngru/gru_cell/bias (2, "
         "9)\n(B, 3)",
         99},
        {SEQUENCE "- GRU: {units: 3, reset_after: false}",
         "gru/gru_cell/kernel (6, 9)\ngru/gru_cell/recurrent_kernel (3, 9)\ngru/gru_cell/bias "
         "(9)\n(B, 3)",
         90},
        {SEQUENCE "- SimpleRNN: {units: 3, use_bias: false}",
         "simple_rnn/simple_rnn_cell/kernel (6, 3)\nsimple_rnn/simple_rnn_cell/recurrent_kernel "
         "(3, 3)\n(B, 3)",
         27},
        {SEQUENCE "- Bidirectional: {layer: {SimpleRNN: {units: 3, use_bias: false, "
                  "return_sequences: true}}, trainable: false}",
         "bidirectional/forward_simple_rnn/simple_rnn_cell/kernel (6, 3) "
         "*\nbidirectional/forward_simple_rnn/simple_rnn_cell/recurrent_kernel (3, 3) *\n"
         "bidirectional/backward_simple_rnn/simple_rnn_cell/kernel (6, 3) "
         "*\nbidirectional/backward_simple_rnn/simple_rnn_cell/recurrent_kernel (3, 3) *\n"
         "(B, 5, 6)",
         54},
        {SEQUENCE "- LSTM: {units: 1, use_bias: false, return_sequences: true}\n- Bidirectional: "
                  "{layer: {LSTM: {units: 1, use_bias: false}}}",
         "lstm/lstm_cell/kernel (6, 4)\nlstm/lstm_cell/recurrent_kernel (1, 4)\n"
         "bidirectional/forward_lstm_1/lstm_cell/kernel (1, "
         "4)\nbidirectional/forward_lstm_1/lstm_cell/recurrent_kernel (1, 4)\n"
         "bidirectional/backward_lstm_1/lstm_cell/kernel (1, "
         "4)\nbidirectional/backward_lstm_1/lstm_cell/recurrent_kernel (1, 4)\n(B, 2)",
         44},
        {SEQUENCE "- LSTM: {units: 3, recurrent_dropout: 0.5, use_bias: false}",
         "lstm/lstm_cell/kernel (6, 12)\nlstm/lstm_cell/recurrent_kernel (3, "
         "12)\nlstm/lstm_cell/seed_generator/step () *\n(B, 3)",
         108},
        {VECTOR "- Dropout: {rate: 0.5}", "dropout/seed_generator/step () *\n(B, 6)", 0},
        {VECTOR "- Dropout: {rate: 0}", "(B, 6)", 0},
        {SEQUENCE "- PReLU: {shared_axes: [1]}", "p_re_lu/alpha (1, 6)\n(B, 5, 6)", 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_location at = {0};
        dt_str text = {0};
        ok(dt_model_read(arena, parse(arena, "layers", rows[i].layers), &at, &m));
        describe(&m, &text);
        assert_string_equal(dt_str_text(&text), rows[i].weights);
        assert_int_equal(m.parameters, rows[i].parameters);
        dt_str_release(&text);
        dt_arena_destroy(arena);
    }
}

/* The forget gate's bias begins as 1, whatever the initialiser of the others. */
static void test_unit_forget_bias(void **state) {
    (void)state;
    static const struct {
        const char *arguments;
        float others, forget;
    } rows[] = {
        {"{units: 2}", 0, 1},
        {"{units: 2, unit_forget_bias: false}", 0, 0},
        {"{units: 2, bias_initializer: {Constant: {value: 3}}}", 3, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char layers[160];
        snprintf(layers, sizeof layers, SEQUENCE "- LSTM: %s", rows[i].arguments);
        dt_model *m = model_of(layers, 1);
        const float *bias = m->weight[2]->host_data;
        for (int k = 0; k < 8; k++)
            assert_true(bias[k] == (k / 2 == 1 ? rows[i].forget : rows[i].others));
        model_free(m);
    }
}

/* ---- what is refused ---- */

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *layers;
        int number;
        const char *text;
    } rows[] = {
        {VECTOR "- BatchNormalization: {axis: 2}", DT_E_MODEL_SHAPE,
         "axis 2 is out of range for 2 dimensions (0 is the batch)"},
        {VECTOR "- BatchNormalization: {axis: 0}", DT_E_MODEL_SHAPE,
         "axis 0 is out of range for 2 dimensions (0 is the batch)"},
        {VECTOR "- BatchNormalization: {renorm: true}", DT_E_UNKNOWN_KEY,
         "key 'renorm' in BatchNormalization is not implemented yet"},
        {SEQUENCE "- LayerNormalization: {axis: 3}", DT_E_MODEL_SHAPE,
         "axis 3 is out of bounds for input shape (B, 5, 6)"},
        {SEQUENCE "- LayerNormalization: {axis: [-1, 2]}", DT_E_MODEL_SHAPE,
         "axis 2 is named twice for input shape (B, 5, 6)"},
        {SEQUENCE "- LayerNormalization: {axis: x}", DT_E_WRONG_TYPE,
         "axis: expected an integer, got 'x'"},
        {SEQUENCE "- LayerNormalization: {axis: 0}", DT_E_MODEL_SHAPE,
         "axis 0 is the batch, which has no fixed size, for input shape (B, 5, 6)"},
        {SEQUENCE "- LayerNormalization: {axis: []}", DT_E_RANGE, "axis must name a dimension"},
        {SEQUENCE "- UnitNormalization: {axis: []}", DT_E_RANGE, "axis must name a dimension"},
        {SEQUENCE "- Softmax: {axis: []}", DT_E_RANGE, "axis must name a dimension"},
        {SEQUENCE "- PReLU: {shared_axes: [-1]}", DT_E_RANGE,
         "shared_axes[0] must be at least 1, got -1"},
        {SEQUENCE "- PReLU: {shared_axes: 0}", DT_E_RANGE, "shared_axes must be at least 1, got 0"},
        {SEQUENCE "- PReLU: {shared_axes: [3]}", DT_E_MODEL_SHAPE,
         "axis 3 is out of bounds for input shape (B, 5, 6)"},
        {SEQUENCE "- Dense: {units: 2, bias_initializer: orthogonal}", DT_E_MODEL_SHAPE,
         "Orthogonal needs 2 or more dimensions; shape (2) has 1"},
        {SEQUENCE "- GroupNormalization: {groups: 1, axis: 4294967297}", DT_E_MODEL_SHAPE,
         "axis 4294967297 is out of range, or an input of 3 dimensions has too many"},
        {SEQUENCE "- GroupNormalization", DT_E_MODEL_SHAPE,
         "32 groups are more than the 6 channels"},
        {SEQUENCE "- GroupNormalization: {groups: 4}", DT_E_MODEL_SHAPE,
         "6 channels are not divisible into 4 groups"},
        {SEQUENCE "- GroupNormalization: {groups: 0}", DT_E_RANGE,
         "groups must be at least 1, or -1 for one for each channel, got 0"},
        {VECTOR "- Embedding: {input_dim: 0, output_dim: 4}", DT_E_RANGE,
         "input_dim must be in [1, 2147483648], got 0"},
        {WORDS "- Embedding: {input_dim: 2, output_dim: 4, mask_zero: true, name: e}\n- Softmax",
         DT_E_MODEL_SHAPE, "Softmax needs a mask of single values, but that of 'e' masks steps"},
        {VECTOR "- MultiHeadAttention: {num_heads: 2, key_dim: 2}", DT_E_MODEL_SHAPE,
         "input 0 of MultiHeadAttention has 2 dimensions, (B, 6); expected 3, (B, steps, "
         "features)"},
        {SEQUENCE "- MultiHeadAttention: {num_heads: 0, key_dim: 2}", DT_E_RANGE,
         "num_heads must be at least 1, got 0"},
        {SEQUENCE
         "- MultiHeadAttention: {num_heads: 1, key_dim: 2, output_shape: [2, 1, 1, 1, 1, 1, 3]}",
         DT_E_MODEL_SHAPE, "output_shape has 7 dimensions; at most 6 are possible"},
        {SEQUENCE "- MultiHeadAttention: {num_heads: 1, key_dim: 2, output_shape: [2, 0]}",
         DT_E_RANGE, "output_shape[1] must be at least 1, got 0"},
        {SEQUENCE "- T5MultiHeadAttention: {num_heads: 1, key_value_dim: 2, is_decoder: true, "
                  "relative_attention_max_distance: 16}",
         DT_E_RANGE,
         "relative_attention_max_distance must be greater than 16, the number of distances with a "
         "bucket of their own, got 16"},
        {VECTOR "- TransformerDecoder: {intermediate_dim: 2, num_heads: 2}", DT_E_MODEL_SHAPE,
         "input 0 of TransformerDecoder has 2 dimensions, (B, 6); expected 3, (B, steps, "
         "features)"},
        {SEQUENCE "- TransformerEncoder: {intermediate_dim: 2, num_heads: 7}", DT_E_MODEL_SHAPE,
         "TransformerEncoder has 7 heads for 6 features: a head needs at least one"},
        {SEQUENCE
         "- TransformerDecoder: {intermediate_dim: 2, num_heads: 2, kernel_initializer: glorot}",
         DT_E_UNKNOWN_NAME, "unknown initializer 'glorot'"},
        {SEQUENCE
         "- GroupQueryAttention: {head_dim: 2, num_query_heads: 3, num_key_value_heads: 2}",
         DT_E_MODEL_SHAPE,
         "the number of query heads must be divisible by that of key and value heads, got 3 and 2"},
        {"- Input: {name: x, shape: [4, 5]}\n- RotaryEmbedding", DT_E_MODEL_SHAPE,
         "RotaryEmbedding rotates pairs of features: 5 is not even"},
        {SEQUENCE "- RotaryEmbedding: {rope_type: yarn}", DT_E_UNKNOWN_KEY,
         "key 'rope_type' in RotaryEmbedding is not implemented yet"},
        {SEQUENCE "- LlamaTransformerDecoder: {intermediate_dim: 2, num_query_heads: 2, "
                  "num_key_value_heads: 1}",
         DT_E_MODEL_SHAPE, "LlamaAttention rotates pairs of features: 3 is not even"},
        {SEQUENCE "- LlamaTransformerDecoder: {intermediate_dim: 2, num_query_heads: 7, "
                  "num_key_value_heads: 1}",
         DT_E_MODEL_SHAPE, "7 heads for 6 features: a head needs at least one"},
        {SEQUENCE
         "- LlamaAttention: {num_query_heads: 3, num_key_value_heads: 1, rope_low_freq_factor: 1}",
         DT_E_MODEL_SHAPE, "frequency scaling needs all of its four arguments, got 1"},
        {SEQUENCE "- LlamaAttention: {num_query_heads: 3, num_key_value_heads: 1, "
                  "rope_low_freq_factor: 4, rope_high_freq_factor: 4, "
                  "rope_frequency_adjustment_factor: 8, rope_pretraining_sequence_length: 9}",
         DT_E_RANGE, "rope_high_freq_factor 4 must be above rope_low_freq_factor 4"},
        {SEQUENCE
         "- LlamaAttention: {num_query_heads: 3, num_key_value_heads: 1, rope_beta_slow: 2}",
         DT_E_RANGE, "rope_beta_fast and rope_beta_slow need rope_type: yarn"},
        {SEQUENCE
         "- LlamaAttention: {num_query_heads: 3, num_key_value_heads: 1, layer_norm_epsilon: 1e-5}",
         DT_E_RANGE, "layer_norm_epsilon needs qk_norm"},
        {SEQUENCE "- MultiHeadAttention: {num_heads: 2, key_dim: 2, layer_norm_epsilon: 0.1}",
         DT_E_RANGE, "layer_norm_epsilon needs qk_norm"},
        {SEQUENCE "- MixtureOfExperts: {intermediate_dim: 2, num_experts: 3, activation: relu, "
                  "swiglu_limit: 7}",
         DT_E_RANGE, "with swiglu_limit, experts have gpt-oss' activation; leave out activation"},
        {"- Input: {name: x, shape: [4, 6, 3]}\n- ViTPatchingAndEmbedding: {image_size: [6, 6], "
         "patch_size: 2, hidden_dim: 2}",
         DT_E_MODEL_SHAPE, "the image is 4x6x3, but image_size and num_channels give 6x6x3"},
        {"- Input: {name: x, shape: [4, 6, 3]}\n- ViTPatchingAndEmbedding: {image_size: [4], "
         "patch_size: 2, hidden_dim: 2}",
         DT_E_MODEL_SHAPE, "image_size has 1 numbers; expected [height, width]"},
        {SEQUENCE "- Take: {indices: 5, axis: 1}", DT_E_MODEL_SHAPE,
         "index 5 is out of range for 5 elements"},
        {SEQUENCE "- Take: {indices: 0, axis: 0}", DT_E_MODEL_SHAPE,
         "axis 0 is out of range for 3 dimensions (0 is the batch)"},
        {SEQUENCE "- PositionEmbedding: {sequence_length: 4}", DT_E_MODEL_SHAPE,
         "the input has 5 steps, but sequence_length is 4"},
        {WORDS
         "- TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 4, embedding_dim: 2}",
         DT_E_MODEL_SHAPE, "the input has 5 steps, but sequence_length is 4"},
        {SEQUENCE
         "- TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 5, embedding_dim: 2}",
         DT_E_MODEL_SHAPE,
         "TokenAndPositionEmbedding needs token ids of shape (B, steps); its input has 3 "
         "dimensions"},
        {VECTOR "- Dense: {units: 6, name: d}\n- Tied: {to: e}", DT_E_WEIGHT,
         "no layer before 'tied' has a weight 'e'"},
        {VECTOR "- Dense: {units: 6, name: d}\n- Tied: {to: d}", DT_E_WEIGHT,
         "'d' has 2 weights: name one of them"},
        {VECTOR "- Dense: {units: 6, name: d}\n- Tied: {to: d/bias}", DT_E_MODEL_SHAPE,
         "'d/bias' is f32[6]; Tied needs a table with rows of 6 for its input, f32[B,6]"},
        {VECTOR "- Tied: {to: d}\n- Dense: {units: 6, name: d}", DT_E_WEIGHT,
         "no layer before 'tied' has a weight 'd'"},
        {VECTOR "- LSTM: {units: 2}", DT_E_MODEL_SHAPE,
         "input 0 of LSTM has 2 dimensions, (B, 6); expected 3, (B, steps, features)"},
        {SEQUENCE "- GRU: {units: 2, stateful: true}", DT_E_UNKNOWN_KEY,
         "key 'stateful' in GRU is not implemented yet"},
        {"- Input: {shape: [5000, 1]}\n- GRU: {units: 2}", DT_E_MODEL_SIZE,
         "GRU is unrolled, for at most 4096 steps; the input has 5000"},
        {SEQUENCE "- Bidirectional: {layer: {Dense: {units: 2}}}", DT_E_UNKNOWN_NAME,
         "unknown recurrent layer 'Dense'"},
        {SEQUENCE "- Bidirectional: {layer: {LSTM: {units: 0}}}", DT_E_RANGE,
         "units must be at least 1, got 0"},
        {VECTOR "- Dropout: {rate: 1.5}", DT_E_RANGE, "rate must be in [0, 1], got 1.5"},
        {SEQUENCE "- Dropout: {rate: 0.5, noise_shape: [null, 2, 6]}", DT_E_MODEL_SHAPE,
         "noise_shape[1] is 2; it may be null, 1 or the input's size"},
        {SEQUENCE "- Dropout: {rate: 0.5, noise_shape: [null, 1]}", DT_E_MODEL_SHAPE,
         "noise_shape has 2 sizes, but the input has 3"},
        {VECTOR "- SpatialDropout1D: {rate: 0.5}", DT_E_MODEL_SHAPE,
         "input 0 of SpatialDropout1D has 2 dimensions, (B, 6); expected 3, (B, steps, channels)"},
        {VECTOR "- GaussianNoise: {stddev: -1}", DT_E_RANGE, "stddev must be in [0, 1], got -1"},
        {WORDS "- Dropout: {rate: 0.5}", DT_E_MODEL_SHAPE,
         "Dropout needs floating-point values, got int32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_location at = {0};
        dt_status *s = dt_model_read(arena, parse(arena, "layers", rows[i].layers), &at, &m);
        if (!s) fail_msg("not refused: %s", rows[i].layers);
        assert_string_equal(dt_status_text(s), rows[i].text);
        assert_int_equal(dt_status_number(s), rows[i].number);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* ---- what is drawn ---- */

enum { ROWS = 50, COLUMNS = 40, CELLS = ROWS * COLUMNS };

/* y of x = 1, (50, 40), in training, twice in one step. */
static void draw_twice(dt_model *m, double out[2][CELLS]) {
    static float ones[CELLS];
    dt_view x = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){ROWS, COLUMNS}), ones};
    dt_trace *t = dt_trace_create("draw");
    dt_type type = batched(&x.type);
    dt_value in = dt_trace_declare(t, "x", &type);
    for (int i = 0; i < CELLS; i++) ones[i] = 1;
    dt_return(t, "0", call_model(m, in, true));
    dt_return(t, "1", call_model(m, in, true));
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", x}}, 1);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < CELLS; i++) out[k][i] = element(result_of(&o, 0, k ? "1" : "0"), i);
    finish(&o);
    dt_graph_destroy(o.graph);
}

static int count_equal(const double a[CELLS], const double b[CELLS]) {
    int n = 0;
    for (int i = 0; i < CELLS; i++) n += a[i] == b[i];
    return n;
}

static void test_dropout_keeps_the_expected_value(void **state) {
    (void)state;
    static double y[2][CELLS], next[2][CELLS], again[2][CELLS];
    dt_model *m = model_of("- Input: {name: x, shape: [40]}\n- Dropout: {rate: 0.25, seed: 7}", 1);
    draw_twice(m, y);
    int dropped = 0;
    for (int i = 0; i < CELLS; i++) {
        assert_true(y[0][i] == 0 || fabs(y[0][i] - 1 / 0.75) < 1e-6);
        dropped += y[0][i] == 0;
    }
    assert_true(abs(dropped - CELLS / 4) < 80);           /* four deviations */
    assert_true(count_equal(y[0], y[1]) < CELLS * 3 / 4); /* of each call its own */
    draw_twice(m, next);
    assert_true(count_equal(y[0], next[0]) < CELLS * 3 / 4);
    assert_int_equal(*(const int64_t *)m->weight[0]->host_data, 4);
    model_free(m);
    /* its own seed, whatever the model's */
    m = model_of("- Input: {name: x, shape: [40]}\n- Dropout: {rate: 0.25, seed: 7}", 2);
    draw_twice(m, again);
    assert_int_equal(count_equal(y[0], again[0]), CELLS);
    model_free(m);
}

/* Of ones, keras.layers.AlphaDropout(0.2) makes these two values. */
static void test_alpha_dropout_is_keras(void **state) {
    (void)state;
    static double y[2][CELLS];
    dt_model *m = model_of("- Input: {name: x, shape: [40]}\n- AlphaDropout: {rate: 0.2}", 1);
    draw_twice(m, y);
    int dropped = 0;
    for (int i = 0; i < CELLS; i++) {
        dropped += y[0][i] < 0;
        assert_near("value", y[0][i], y[0][i] < 0 ? -1.2361598 : 1.1879435, 0, 1e-6);
    }
    assert_true(abs(dropped - CELLS / 5) < 80);
    model_free(m);
}

static void test_masks_of_one_column_or_step(void **state) {
    (void)state;
    static double y[2][CELLS];
    dt_model *m = model_of(
        "- Input: {name: x, shape: [40]}\n- Dropout: {rate: 0.5, noise_shape: [null, 1]}", 1);
    draw_twice(m, y);
    for (int i = 0; i < CELLS; i++) assert_true(y[0][i] == y[0][i / COLUMNS * COLUMNS]);
    model_free(m);
}

/* Two models that compute the same. */
static void test_dropout_of_recurrent_layers(void **state) {
    (void)state;
    static const char *const cells[] = {
        "LSTM: {units: 5, return_sequences: true", "GRU: {units: 5, return_sequences: true",
        "GRU: {units: 5, return_sequences: true, reset_after: false",
        "SimpleRNN: {units: 5, return_sequences: true"};
    /* before the cell, its arguments; the same of the other model */
    static const char *const pairs[][4] = {
        {"", "dropout: 0.5, seed: 3", "- SpatialDropout1D: {rate: 0.5, seed: 3}\n", "dropout: 0"},
        {"", "recurrent_dropout: 0.999999999, seed: 3", "", "recurrent_initializer: zeros"},
        {"", "dropout: 0.999999999, recurrent_dropout: 0.000000001, seed: 3", "",
         "kernel_initializer: zeros"},
    };
    static double y[2][2][CELLS];
    for (size_t i = 0; i < 4 * 3; i++) {
        const char *const *pair = pairs[i / 4];
        for (int k = 0; k < 2; k++) {
            char layers[320];
            snprintf(layers, sizeof layers,
                     "- Input: {name: x, shape: [40]}\n- Reshape: {target_shape: [8, 5]}\n%s- %s, "
                     "%s}\n- Flatten",
                     pair[2 * k], cells[i % 4], pair[2 * k + 1]);
            dt_model *m = model_of(layers, 1);
            draw_twice(m, y[k]);
            model_free(m);
        }
        for (int k = 0; k < CELLS; k++) assert_near(cells[i % 4], y[0][1][k], y[1][1][k], 0, 1e-6);
    }
}

/* Masked steps at the end change nothing. */
static void test_masked_steps_of_t5(void **state) {
    (void)state;
    static const char *const pads[] = {
        "", "- ZeroPadding1D: {padding: [0, 3]}\n- Masking: {name: masked}\n"};
    static double y[2][2][CELLS];
    for (int k = 0; k < 2; k++) {
        char layers[480];
        snprintf(layers, sizeof layers,
                 "- Input: {name: x, shape: [40]}\n- Reshape: {target_shape: [8, 5]}\n"
                 "- PositionEmbedding: {name: p, sequence_length: 8}\n%s"
                 "- T5MultiHeadAttention: {name: a, num_heads: 2, key_value_dim: 3}\n"
                 "- GlobalAveragePooling1D\n- RepeatVector: {n: 8}\n- Flatten",
                 pads[k]);
        dt_model *m = model_of(layers, 1);
        draw_twice(m, y[k]);
        model_free(m);
    }
    for (int k = 0; k < CELLS; k++) assert_near("T5", y[0][0][k], y[1][0][k], 0, 1e-6);
    assert_true(y[0][0][0] != 0);
}

/* Sigmoids of logits of -5000 are all 0. */
static void test_experts_of_score_0(void **state) {
    (void)state;
    static double y[2][CELLS];
    dt_model *m =
        model_of("- Input: {name: x, shape: [40]}\n- Reshape: {target_shape: [8, 5]}\n"
                 "- Rescaling: {scale: 1000}\n"
                 "- MixtureOfExperts: {intermediate_dim: 2, num_experts: 3, scoring_func: sigmoid, "
                 "kernel_initializer: {Constant: {value: -1}}}\n- Flatten",
                 1);
    draw_twice(m, y);
    for (int i = 0; i < CELLS; i++) assert_true(y[0][i] == 0);
    model_free(m);
}

/* h' = 1 + 2 h where the element is kept, 1 where it is dropped: at every step the same. A
 * direction has masks of its own. */
static void test_state_is_dropped_at_every_step(void **state) {
    (void)state;
    static double y[2][CELLS];
    enum { STEPS = 4, UNITS = 10 };
    dt_model *m = model_of("- Input: {name: x, shape: [40]}\n- Reshape: {target_shape: [4, 10]}\n- "
                           "Bidirectional: {layer: {SimpleRNN: {units: 5, "
                           "activation: linear, kernel_initializer: {Constant: {value: 0.1}}, "
                           "recurrent_initializer: identity, return_sequences: true, "
                           "recurrent_dropout: 0.5}}}\n- Flatten",
                           1);
    int kept = 0, same = 0;
    draw_twice(m, y);
    for (int row = 0; row < ROWS; row++) {
        const double *h = &y[0][row * COLUMNS];
        bool is_kept[UNITS];
        for (int u = 0; u < UNITS; u++) {
            const double *last = &h[(u < UNITS / 2 ? STEPS - 1 : 0) * UNITS + u];
            const int before = u < UNITS / 2 ? -UNITS : UNITS;
            is_kept[u] = *last > 2;
            for (int t = 0; t < STEPS; t++)
                assert_near("state", last[t * before], is_kept[u] ? (1 << (STEPS - t)) - 1 : 1, 0,
                            1e-5);
            kept += is_kept[u];
        }
        for (int u = 0; u < UNITS / 2; u++) same += is_kept[u] == is_kept[u + UNITS / 2];
    }
    assert_true(abs(kept - ROWS * UNITS / 2) < 60 && same < ROWS * UNITS / 2 - 60);
    model_free(m);
}

static void test_noise_has_its_deviation(void **state) {
    (void)state;
    static const struct {
        const char *layer;
        double deviation;
    } rows[] = {
        {"GaussianNoise: {stddev: 0.5}", 0.5},
        {"GaussianDropout: {rate: 0.2}", 0.5},
    };
    static double y[2][CELLS];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char layers[160];
        double sum = 0, squares = 0;
        snprintf(layers, sizeof layers, "- Input: {name: x, shape: [40]}\n- %s", rows[i].layer);
        dt_model *m = model_of(layers, 1);
        draw_twice(m, y);
        for (int k = 0; k < CELLS; k++) {
            sum += y[0][k];
            squares += y[0][k] * y[0][k];
        }
        double mean = sum / CELLS;
        assert_near(rows[i].layer, mean, 1, 0, 0.05);
        assert_near(rows[i].layer, sqrt(squares / CELLS - mean * mean), rows[i].deviation, 0, 0.04);
        model_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_keras),
        cmocka_unit_test(test_unit_forget_bias),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_dropout_keeps_the_expected_value),
        cmocka_unit_test(test_alpha_dropout_is_keras),
        cmocka_unit_test(test_masks_of_one_column_or_step),
        cmocka_unit_test(test_masked_steps_of_t5),
        cmocka_unit_test(test_experts_of_score_0),
        cmocka_unit_test(test_dropout_of_recurrent_layers),
        cmocka_unit_test(test_state_is_dropped_at_every_step),
        cmocka_unit_test(test_noise_has_its_deviation),
    };
    return cmocka_run_group_tests_name("layers of sequences", tests, NULL, NULL);
}
