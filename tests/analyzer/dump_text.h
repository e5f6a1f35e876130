/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the reader: dumps written as C text with ' for " and read from memory.
 *
 * Included by one test program each, so its functions are static. One thread.
 */
#ifndef WCPROF_TESTS_DUMP_TEXT_H
#define WCPROF_TESTS_DUMP_TEXT_H

#include "read/read.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                      \
	"{'schema_version':1,'epoch_unix_nano':1000000,'dumped_unix_nano':1009000," \
	"'strings':['','one','two','three']}\n"

static struct read_error read_error;

/* The text with its ' turned into ". */
static inline char *dump_text(const char *text)
{
	char *copy = strdup(text);
	char *at;

	for (at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

static inline int read_text_in_steps(struct recording *recording, const char *text,
				     size_t step_bytes)
{
	char *dump = dump_text(text);
	int status = recording_read_memory(recording, "test", dump, strlen(dump), step_bytes,
					   &read_error);

	free(dump);
	return status;
}

static inline int read_text(struct recording *recording, const char *text)
{
	return read_text_in_steps(recording, text, SIZE_MAX);
}

/* Must be readable; row is the table's row, for the message. */
static inline void read_good(struct recording *recording, const char *text, size_t row)
{
	int status = read_text(recording, text);

	ck_assert_msg(status == 0, "row %zu: %s:%llu: %s", row, read_error.file,
		      (unsigned long long)read_error.line, read_error.text);
}

/* Must be refused at this line with these words in the error. */
static inline void read_bad(const char *text, uint64_t line, const char *words, size_t row)
{
	struct recording recording;
	int status = read_text(&recording, text);

	ck_assert_msg(status < 0, "row %zu was accepted", row);
	ck_assert_msg(read_error.line == line && strstr(read_error.text, words),
		      "row %zu: line %llu: %s", row, (unsigned long long)read_error.line,
		      read_error.text);
	ck_assert_str_eq(read_error.file, "test");
	recording_free(&recording);
}

#endif
