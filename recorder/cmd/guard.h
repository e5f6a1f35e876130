/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped files that others may shorten while they are read.
 *
 * Memory that is not there any more reads as zeros, from then on, and the reader asks at the end
 * whether that happened. So no reader needs a way back from the middle of its work.
 */
#ifndef WCPROF_GUARD_H
#define WCPROF_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* False: no memory. */
bool guard_add(void *mapping, size_t bytes);
/* Before it is unmapped. */
void guard_remove(const void *mapping);
/* Whether some of it was not to be had: the file is shorter now, or memory for it has run out. */
bool guard_is_torn(const void *mapping);

#endif
