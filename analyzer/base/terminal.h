/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The width of standard output, and whether it shows colours. One thread.
 */
#ifndef WCPROF_TERMINAL_H
#define WCPROF_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Where lines end; 0 = nowhere, as is wanted if it is wide. */
size_t terminal_columns(bool is_wide);

/* The word of --color: auto, always or never. */
bool terminal_wants_color(const char *when);

#endif
