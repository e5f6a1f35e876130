/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small root directory, for tests of what reads a system's files. tree_begin() ... tree_end().
 */
#ifndef WCPROF_TESTS_TREE_H
#define WCPROF_TESTS_TREE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite.h"

static char tree_root[64];

static inline void tree_begin(void)
{
	strcpy(tree_root, "/tmp/wcprof-tree.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tree_root));
}

static inline void tree_end(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", tree_root);
	ck_assert_int_eq(system(command), 0);
}

/* The path of a file below the root, whose directories are made. */
static inline const char *tree_path(const char *path)
{
	static char full[PATH_MAX];
	snprintf(full, sizeof(full), "%s%s", tree_root, path);
	for (char *at = full + strlen(tree_root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0755);
		*at = '/';
	}
	return full;
}

static inline void tree_file(const char *path, const char *text)
{
	FILE *file = fopen(tree_path(path), "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

#endif
