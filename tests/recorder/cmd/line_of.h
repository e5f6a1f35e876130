/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a test's own source, for tests of what finds lines. */
#ifndef WCPROF_TESTS_LINE_OF_H
#define WCPROF_TESTS_LINE_OF_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

/* The line of the file that has the word in a comment of its own. */
static inline uint32_t line_of(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[256], comment[64];
	uint32_t number = 0;

	ck_assert_ptr_nonnull(file);
	snprintf(comment, sizeof(comment), "/* %s *", word);
	do {
		number++;
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	} while (!strstr(line, comment));
	fclose(file);
	return number;
}

#endif
