/* SPDX-License-Identifier: Apache-2.0 */
/* Of many names, those that look most like one that is not there. One thread. */
#ifndef WCPROF_NEAREST_H
#define WCPROF_NEAREST_H

#include <stddef.h>

enum { NEAREST_COUNT = 3, NEAREST_NAME_BYTES = 96 };

struct nearest {
	const char *wanted;
	char names[NEAREST_COUNT][NEAREST_NAME_BYTES];
	unsigned distances[NEAREST_COUNT];
	size_t count;
};

/* Looks at one more name. */
void nearest_see(struct nearest *nearest, const char *name);

#endif
