/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a differential flame graph would be drawn of other figures than the report's. */
#include "export/foldedtail.h"

#include <stdlib.h>

#include "tailing.h"

START_TEST(lines_have_both_counts)
{
	struct tailing made;
	char *text = NULL;
	size_t length;
	tailing_make(&made);
	FILE *file = open_memstream(&text, &length);
	ck_assert(folded_tail_write(file, &made.analysis));
	fclose(file);
	ck_assert_str_eq(text, "lock;table 0 5000\ncpu 1001 1001\n");
	free(text);
	tailing_free(&made);
}
END_TEST

START_TEST(no_tail_has_no_lines)
{
	struct tailing made;
	char *text = NULL;
	size_t length;
	tailing_make(&made);
	made.analysis.script.requests.count = 30;
	FILE *file = open_memstream(&text, &length);
	ck_assert(!folded_tail_write(file, &made.analysis));
	fclose(file);
	ck_assert_uint_eq(length, 0);
	free(text);
	tailing_free(&made);
}
END_TEST

SUITE()
{
	TEST(lines_have_both_counts);
	TEST(no_tail_has_no_lines);
}
