/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of compiling a program: slots, regions that may be skipped, and the baseline.
 *
 * Called once by program_compile. Before, instructions name values (an op's clock, or one of the
 * compiler's own); afterwards they name slots, few enough to stay in a cache.
 */
#ifndef WCPROF_LAYOUT_H
#define WCPROF_LAYOUT_H

#include "program.h"

/* `value_count` values are named in the code; region ends are set. */
void layout_program(struct program *program, uint32_t value_count);

#endif
