/* SPDX-License-Identifier: Apache-2.0 */
/* A printed comparison, as one text. */
#ifndef WCPROF_TESTS_PRINTED_DIFF_H
#define WCPROF_TESTS_PRINTED_DIFF_H

#include "base/emit.h"

#include <stdlib.h>
#include <string.h>

/* To be freed. */
static inline char *printed_diff(enum emit_format format,
				 void (*print)(struct emit *, const void *), const void *context)
{
	char *text = NULL;
	size_t length;
	struct emit emit;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, 100, false);
	print(&emit, context);
	emit_end(&emit);
	fclose(file);
	return text;
}

#endif
