/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a child that was waited for in a pause is open in all later windows. */
#include "reaped.h"

#include <signal.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"
#include "watch.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static pid_t begin_child(void)
{
	struct self *self = self_enter();
	struct watch *watch;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	watch = watch_get(self, (const void *)(uintptr_t)child, WATCH_CHILD);
	ck_assert_ptr_nonnull(watch);
	watch->holder_start = clock_now_ticks();
	store_release(&watch->holder_op, op_reserve(self));
	self_leave(self);
	return child;
}

static void kill_child(pid_t child, bool is_awaited)
{
	kill(child, SIGKILL);
	if (is_awaited)
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

static json_t *children_of(const json_t *lines)
{
	json_t *opens = json_object_get(json_array_get(lines, 0), "open_ops");
	json_t *children = recording_keep(json_array());

	for (size_t i = 0; i < json_array_size(opens); i++)
		if (strcmp(word_of(json_array_get(opens, i), "kind"), "exec") == 0)
			json_array_append(children, json_array_get(opens, i));
	return children;
}

/* Of children's ops that ended. */
static json_t *records_of(const json_t *lines)
{
	json_t *records = recording_keep(json_array());

	for (size_t i = 1; i < json_array_size(lines); i++)
		if (strcmp(word_of(json_array_get(lines, i), "k"), "exec") == 0)
			json_array_append(records, json_array_get(lines, i));
	return records;
}

START_TEST(children_that_were_waited_for_in_a_pause_end_with_it)
{
	pid_t waited_for = begin_child(), living = begin_child(), zombie = begin_child();
	struct self *self = self_enter();
	const json_t *lines, *opens;

	self_leave(self);
	switch_disable();
	kill_child(waited_for, true);
	kill_child(zombie, false);
	ck_assert_uint_ne(reaped_write(self, 0, clock_now_ticks()), 0);
	ck_assert_uint_eq(reaped_write(self, 0, clock_now_ticks()), 0);
	lines = recording_dump(true);
	opens = children_of(lines);
	ck_assert_uint_eq(json_array_size(opens), 2);
	ck_assert_uint_eq(json_array_size(records_of(lines)), 1);
	ck_assert_ptr_null(watch_find((const void *)(uintptr_t)waited_for));
	kill_child(living, true);
	/* It was left to the program. */
	kill_child(zombie, true);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(children_that_were_waited_for_in_a_pause_end_with_it);
}
