/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which package of Debian's a file is of, and its version, by dpkg's own lists. dpkg is not run.
 *
 * A file's path in the lists may be with /usr or without it, as the two are one directory. Where a
 * package has diverted another one's file, the file is of the one that is at that path now. One
 * thread.
 */
#ifndef WCPROF_DPKG_H
#define WCPROF_DPKG_H

#include <stddef.h>

struct dpkg_file {
	const char *path;    /* absolute, as the program sees it */
	const char *name;    /* of the package; NULL = of none */
	const char *version; /* NULL = not known */
};

struct dpkg;

/* Fills in the names of all these files' packages from the lists below `root` ("" = the whole
 * machine). Names are in what is returned, to be freed after the last use; NULL: no lists. */
struct dpkg *dpkg_find(struct dpkg_file *files, size_t count, const char *root);
void dpkg_free(struct dpkg *dpkg);

#endif
