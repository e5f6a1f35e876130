/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, parts of requests would be mixed up. */
#include "paths/pathparts.h"
#include "suite.h"

START_TEST(equal_parts_have_one_number)
{
	struct path_parts parts;
	path_parts_begin(&parts);
	uint32_t lock = path_parts_add(&parts, PATH_LOCK, 3, 4);
	uint32_t other = path_parts_add(&parts, PATH_LOCK, 3, 5);
	uint32_t cpu = path_parts_add(&parts, PATH_CPU, 3, 4);
	ck_assert_uint_eq(path_parts_add(&parts, PATH_LOCK, 3, 4), lock);
	ck_assert(lock != other && lock != cpu && other != cpu);
	struct path_part part = path_parts_at(&parts, other);
	ck_assert(part.kind == PATH_LOCK && part.name == 3 && part.by == 5);
	path_parts_free(&parts);
}
END_TEST

START_TEST(kinds_have_words)
{
	ck_assert_str_eq(path_kind_word(PATH_CPU), "cpu");
	ck_assert_str_eq(path_kind_word(PATH_UNEXPLAINED), "unexplained");
}
END_TEST

SUITE()
{
	TEST(equal_parts_have_one_number);
	TEST(kinds_have_words);
}
