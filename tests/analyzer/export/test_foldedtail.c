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

START_TEST(what_is_too_few_is_said)
{
	struct tailing made;
	char *text = NULL, said[FOLDED_TAIL_BYTES];
	size_t length;
	tailing_make(&made);
	made.options.tail = "95:no such class";
	FILE *file = open_memstream(&text, &length);
	ck_assert(!folded_tail_write_stacks(file, FOLDED_WALL, &made.analysis, said));
	fclose(file);
	ck_assert_uint_eq(length, 0);
	ck_assert_str_eq(said, "--tail: 0 calls of such a class, 0 of them slow: a tail takes 50, "
			       "and shorter ones");
	free(text);
	tailing_free(&made);
}
END_TEST

SUITE()
{
	TEST(lines_have_both_counts);
	TEST(no_tail_has_no_lines);
	TEST(what_is_too_few_is_said);
}
