/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for a process that does not see them, as it has other mounts: copies in its memory.
 */
#ifndef WCPROF_ATTACH_COPY_H
#define WCPROF_ATTACH_COPY_H

#include <stdbool.h>

#include "attach_call.h"

enum { ATTACH_COPY_PATH_BYTES = 192 };

struct attach_copy {
	int fd;                            /* of the process */
	char path[ATTACH_COPY_PATH_BYTES]; /* by which it may open it */
};

/* By the thread that calls for us. False: it has no such memory, or no /proc. */
bool attach_copy_begin(struct attach_call *call, const char *file, struct attach_copy *copy);
/* The copy goes, but for what is mapped of it. */
void attach_copy_end(struct attach_call *call, const struct attach_copy *copy);

#endif
