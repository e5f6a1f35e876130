/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if one of many looks for processes costs as much as there are arenas on the machine. */
#include "left_arena.h"

#include <sys/inotify.h>

#include "target.h"

/* Whether a look for nobody's processes opens it. */
static bool is_opened_by(unsigned how)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct target_list found;
	char error[256], event[sizeof(struct inotify_event) + 256];

	ck_assert_int_ge(inotify_add_watch(watch, arena_path, IN_OPEN), 0);
	ck_assert_int_ne(target_find(&found, "no-such-program", how, error, sizeof(error)), 0);
	bool is_opened = read(watch, event, sizeof(event)) > 0;

	close(watch);
	return is_opened;
}

START_TEST(one_of_many_looks_opens_no_arena)
{
	leave_arena(1);
	ck_assert(is_opened_by(TARGET_TREE));
	ck_assert(!is_opened_by(TARGET_TREE | TARGET_AGAIN));
	unlink(arena_path);
}
END_TEST

SUITE()
{
	TEST(one_of_many_looks_opens_no_arena);
}
