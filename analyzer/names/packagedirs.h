/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages by the directories that package managers of languages put files into.
 *
 * Any thread.
 */
#ifndef WCPROF_PACKAGEDIRS_H
#define WCPROF_PACKAGEDIRS_H

#include "packages.h"
#include "read/jsontexts.h"

struct package_dir {
	enum package_sort sort;
	char name[JSON_TEXTS_BYTES];
	char version[JSON_TEXTS_BYTES]; /* "" = not known */
};

/* Of a file's path, absolute. Versions are looked up below `root` ("" = the whole machine). False:
 * it is in no such directory. */
bool package_dir_find(struct package_dir *found, const char *path, const char *root);

#endif
