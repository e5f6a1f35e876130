/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a call that was found seems to have lasted longer, or to be open and ended. */
#include "found.h"

#include "opening.h"
#include "recording.h"
#include "suite.h"

static struct self *self;
static struct inside inside;

static void setup(void)
{
	recording_begin();
	self = self_enter();
	inside = (struct inside){
		.slot = self->slot,
		.opening = opening_now(recorder_arena),
		.cpu_ns = 1000000,
		.record = { .start = opening_begun(recorder_arena),
			    .fd = -1,
			    .type = RECORD_OP,
			    .what = KIND_POLL },
	};
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static size_t count_open(const json_t *lines, const char *kind)
{
	const json_t *ops = json_object_get(json_array_get(lines, 0), "open_ops");
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(ops); i++)
		count += strcmp(word_of(json_array_get(ops, i), "kind"), kind) == 0;
	return count;
}

START_TEST(a_call_ended_before_its_thread_ran)
{
	uint64_t now;

	while (clock_mono_ns() - recorder_arena->clock.base.mono_ns < 3000000)
		continue;
	now = clock_now_ticks();
	ck_assert_uint_ge(found_end(&inside, inside.slot, 1000000), now);
	ck_assert_uint_lt(found_end(&inside, inside.slot, 2000000), now);
	/* A signal handler has used more than there was time. */
	ck_assert_uint_eq(found_end(&inside, inside.slot, UINT32_MAX), inside.record.start);
}
END_TEST

START_TEST(a_call_is_open_until_its_record_is_written)
{
	json_t *lines;

	found_show(&inside);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_open(lines, "poll"), 1);
	ck_assert_uint_eq(count_events(lines, "k", "poll"), 0);
	found_write_op(self, &inside, clock_now_ticks(), OUTCOME_OK);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_open(lines, "poll"), 0);
	ck_assert_uint_eq(count_events(lines, "k", "poll"), 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_call_ended_before_its_thread_ran);
	TEST(a_call_is_open_until_its_record_is_written);
}
