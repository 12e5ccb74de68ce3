/* SPDX-License-Identifier: Apache-2.0 */
/* The table of back ends: DT_BACKEND(name), one file lib/backend/<name>.c or folder
 * lib/backend/<name> each. */
DT_BACKEND(cpu)
DT_BACKEND(sim)
DT_BACKEND(pjrt)
