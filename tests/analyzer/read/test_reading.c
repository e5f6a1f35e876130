/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an error names the wrong place, or what was read is lost when arrays grow. */
#include <errno.h>

#include "dump_text.h"
#include "read/reading.h"
#include "suite.h"

static struct read_file files[] = { { "one", 0 }, { "two's", 10 } };

static struct reading begin(size_t file_count, uint64_t line)
{
	return (struct reading){
		.error = &read_error, .files = files, .file_count = file_count, .line = line
	};
}

START_TEST(lines_are_counted_in_their_file)
{
	struct reading reading = begin(1, 3);

	ck_assert_uint_eq(reading_line(&reading), 4);
	reading = begin(2, 10);
	ck_assert_uint_eq(reading_line(&reading), 1);
}
END_TEST

START_TEST(the_first_error_counts)
{
	struct reading reading = begin(2, 14);

	ck_assert(!reading_fail(&reading, -EBADMSG, 7, "first %d", 1));
	ck_assert(!reading_fail_here(&reading, "second"));
	ck_assert(!reading_fail_memory(&reading));
	ck_assert_int_eq(reading.status, -EBADMSG);
	ck_assert_uint_eq(read_error.line, 7);
	ck_assert_str_eq(read_error.text, "first 1");
	ck_assert_str_eq(read_error.file, "two's");
}
END_TEST

START_TEST(what_to_do_next)
{
	struct reading reading = begin(1, 14);

	reading_fail_here(&reading, "wrong");
	ck_assert_str_eq(read_error.text,
			 "wrong; to use what comes before: head -n 14 'one' | wcprof-analyze -");
	reading = begin(1, 0);
	reading_fail_here(&reading, "wrong");
	ck_assert_str_eq(read_error.text, "wrong; take the dump again");
}
END_TEST

START_TEST(damage_has_a_column)
{
	const char *line = "{\"a\" 1}\n";
	struct json json = { .at = line + 5, .end = line + 7, .error = "expected :" };
	struct reading reading = begin(1, 0);

	reading_fail_json(&reading, &json, line);
	ck_assert(!reading.is_cut_off);
	ck_assert_str_eq(read_error.text, "expected : (column 6); take the dump again");
	json.at = line + 7;
	reading = begin(1, 0);
	reading_fail_json(&reading, &json, line);
	ck_assert(reading.is_cut_off);
}
END_TEST

START_TEST(arrays_grow_and_keep)
{
	struct reading reading = begin(1, 0);
	uint32_t *array = NULL, i;
	size_t capacity = 0;

	for (i = 0; i < 10000; i++) {
		ck_assert(reading_reserve(&reading, &array, &capacity, i, sizeof(*array)));
		ck_assert_uint_gt(capacity, i);
		array[i] = i;
	}
	for (i = 0; i < 10000; i++)
		ck_assert_uint_eq(array[i], i);
	capacity = NO_INDEX - 1;
	ck_assert(!reading_grow(&reading, &array, &capacity, sizeof(*array)));
	ck_assert_int_eq(reading.status, -E2BIG);
	free(array);
}
END_TEST

SUITE()
{
	TEST(lines_are_counted_in_their_file);
	TEST(the_first_error_counts);
	TEST(what_to_do_next);
	TEST(damage_has_a_column);
	TEST(arrays_grow_and_keep);
}
