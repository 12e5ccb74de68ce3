/* SPDX-License-Identifier: Apache-2.0 */
/* The table of back ends. DT_BACKEND(name) is in the file lib/backend/<name>.c or the folder
 * lib/backend/<name>. */
DT_BACKEND(cpu)
DT_BACKEND(sim)
DT_BACKEND(pjrt)
