/* SPDX-License-Identifier: Apache-2.0 */
/* Shells that completions can be made for: SHELL(name) is the row shell_<name>. No include guard. */
SHELL(bash) SHELL(zsh) SHELL(fish)
