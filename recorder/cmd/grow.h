/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of the command that grow as they are filled. Any thread, one for each array.
 */
#ifndef WCPROF_GROW_H
#define WCPROF_GROW_H

#include <stddef.h>

/*
 * An array of realloc()'s with room for one element more than `count`. It is the array itself while
 * *room, in elements, is enough, and twice as large otherwise. NULL: there is no memory; the array
 * is as it was, and still the caller's.
 */
void *grow_for_one(void *array, size_t *room, size_t count, size_t element_bytes);

#endif
