/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, other bytes are taken for a program's code, or a bad file ends the command. */
#include "segment.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "probe_spec.h"
#include "suite.h"

int segment_function(int number);
__attribute__((noinline)) int segment_function(int number)
{
	return number * 3;
}

START_TEST(code_is_read_as_the_file_has_it)
{
	char error[PROBE_ERROR_BYTES];
	struct probe_target *target = probe_target_open(getpid(), error);
	struct probe_places found;
	struct segment segment;
	uint64_t at;

	ck_assert_int_eq(probe_find(target, "segment_function", &found, error), 0);
	ck_assert(segment_read("/proc/self/exe", found.places[0].offset, &segment));
	at = found.places[0].offset - segment.offset;
	ck_assert_uint_lt(at, segment.count);
	ck_assert_int_eq(memcmp(segment.bytes + at, (const void *)segment_function, 8), 0);
	segment_free(&segment);
	probe_places_free(&found);
	probe_target_close(target);
}

START_TEST(what_has_no_code_is_refused)
{
	struct segment segment;

	ck_assert(!segment_read("/proc/self/exe", 0, &segment)); /* headers */
	ck_assert(!segment_read("/proc/self/exe", UINT64_MAX, &segment));
	ck_assert(!segment_read("/proc/self/status", 0, &segment));
	ck_assert(!segment_read("/", 0, &segment));
	ck_assert(!segment_read("/no/such/file", 0, &segment));
}

SUITE()
{
	TEST(code_is_read_as_the_file_has_it);
	TEST(what_has_no_code_is_refused);
}
