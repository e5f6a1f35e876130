/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, time in which a container's limit stopped a program is taken for the program's. */
#include "quota.h"

#include "recording.h"
#include "suite.h"

static const uint64_t SECOND_NS = 1000000000;

static json_t *process_in_dump(void)
{
	return json_object_get(json_array_get(recording_dump(false), 0), "process");
}

static void note(uint64_t milli_cpus, uint64_t stopped_ns, uint64_t now_ns)
{
	quota_note(recorder_arena, &(struct cgroup_quota){ milli_cpus, stopped_ns }, now_ns);
}

START_TEST(a_dump_has_what_stopped_it_while_it_was_recorded)
{
	json_t *process;

	recording_begin();
	/* before the recording began, and while it was off, others ran out of it */
	note(500, 70, SECOND_NS);
	note(500, 75, SECOND_NS + SECOND_NS / 10);
	note(500, 95, 20 * SECOND_NS);
	note(500, 96, 20 * SECOND_NS + SECOND_NS / 10);
	process = process_in_dump();
	ck_assert_int_eq(json_integer_value(json_object_get(process, "quota_milli_cpus")), 500);
	ck_assert_int_eq(json_integer_value(json_object_get(process, "stopped_ns")), 6);
	recording_end();
}
END_TEST

START_TEST(another_cgroup_counts_from_what_it_had)
{
	recording_begin();
	note(500, 70, SECOND_NS);
	note(900, 20, SECOND_NS + SECOND_NS / 10);
	note(900, 21, SECOND_NS + SECOND_NS / 5);
	ck_assert_uint_eq(recorder_arena->stopped_ns, 1);
	ck_assert_uint_eq(recorder_arena->quota_milli_cpus, 900);
	/* a child's recording is another one */
	recorder_arena->pid++;
	note(900, 40, SECOND_NS + SECOND_NS / 4);
	ck_assert_uint_eq(recorder_arena->stopped_ns, 1);
	recorder_arena->pid--;
	recording_end();
}
END_TEST

START_TEST(without_a_quota_nothing_is_said)
{
	recording_begin();
	note(0, 0, SECOND_NS);
	ck_assert_ptr_null(json_object_get(process_in_dump(), "quota_milli_cpus"));
	recording_end();
}
END_TEST

SUITE()
{
	TEST(a_dump_has_what_stopped_it_while_it_was_recorded);
	TEST(another_cgroup_counts_from_what_it_had);
	TEST(without_a_quota_nothing_is_said);
}
