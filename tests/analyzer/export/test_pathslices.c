/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a viewer's critical path would show what threads did at other times. */
#include "export/pathslices.h"
#include "section.h"

/* "thread from-to state", in milliseconds. */
static void print_slices(char *to, struct sketch *sketch)
{
	struct walk walk;
	struct path_slices slices;
	*to = '\0';
	walk_begin_plain(&walk, &sketch->rec, NULL);
	section_wakers(&walk);
	path_slices_build(&slices, &walk);
	for (size_t i = 0; i < slices.count; i++) {
		const struct walk_slice *slice = &slices.slices[i];
		to += sprintf(to, "%u %u-%u %s\n", slice->thread,
			      (unsigned)(slice->start_ns / SKETCH_MS),
			      (unsigned)(slice->end_ns / SKETCH_MS), walk_state_word(slice->state));
	}
	path_slices_free(&slices);
	walk_end(&walk);
}

/* Main joins the second one, which waited for the first one's lock. */
START_TEST(slices_are_cut_where_the_path_comes_and_goes)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "holder", "waiter", 12, 20);
	uint32_t hold = sketch_hold(&sketch, 1, "lock", 1, 1, 10);
	sketch_wait(&sketch, 2, REASON_MUTEX, "lock", 4, 11, hold);
	sketch_hold(&sketch, 2, "lock", 1, 11, 15);
	sketch_end(&sketch);
	print_slices(text, &sketch);
	ck_assert_str_eq(text, "1 0-10 unexplained\n2 10-11 blocked\n2 11-20 unexplained\n");
	sketch_free(&sketch);
}
END_TEST

START_TEST(there_may_be_none)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10);
	print_slices(text, &sketch);
	ck_assert_str_eq(text, "");
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(slices_are_cut_where_the_path_comes_and_goes);
	TEST(there_may_be_none);
}
