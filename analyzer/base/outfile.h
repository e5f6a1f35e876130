/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written: not through what somebody else put there. */
#ifndef WCPROF_OUTFILE_H
#define WCPROF_OUTFILE_H

#include <stdio.h>

/* An empty file, or a device or pipe. In a directory that others may write to, no link is followed,
 * and what is there must be this user's. NULL: errno; EPERM: others may have put it there. */
FILE *outfile_create(const char *path);

#endif
