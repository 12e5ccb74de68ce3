/* SPDX-License-Identifier: Apache-2.0 */
/* The table of back ends: DT_BACKEND(name), one file lib/backend/<name>.c each. */
DT_BACKEND(cpu) DT_BACKEND(sim)
