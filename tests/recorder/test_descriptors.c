/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, an op is said to be on what its descriptor was before, or is described each time.
 */
#include "descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "description.h"
#include "recording.h"
#include "suite.h"

static struct self *self;

static void setup(void)
{
	recording_begin();
	self = self_enter();
	ck_assert_ptr_nonnull(self);
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static const char *describe(int fd)
{
	struct record record = { .fd = fd };
	uint32_t bytes;

	descriptors_describe(self, &record);
	return strings_get(recorder_arena, record.ident, &bytes);
}

static bool is_known(int fd)
{
	return (*descriptors_word(fd) & DESCRIPTOR_KNOWN) != 0;
}

/* One descriptor that is now one thing, now another. */
static int become(const char *path, int fd)
{
	int fresh = open(path, O_RDWR);

	ck_assert_int_eq(dup2(fresh, fd), fd);
	close(fresh);
	return fd;
}

enum { FD = 77 };

START_TEST(a_description_stays_until_it_is_forgotten)
{
	become("/dev/null", FD);
	ck_assert_str_eq(describe(FD), "file /dev/null");
	become("/dev/zero", FD);
	ck_assert_str_eq(describe(FD), "file /dev/null");
	descriptor_forget(FD);
	ck_assert_str_eq(describe(FD), "file /dev/zero");
	ck_assert(is_known(FD));
}
END_TEST

START_TEST(a_range_is_forgotten)
{
	for (int fd = FD; fd < FD + 4; fd++)
		ck_assert_str_eq(describe(become("/dev/null", fd)), "file /dev/null");
	descriptor_forget_range(FD + 1, FD + 2);
	ck_assert(is_known(FD) && !is_known(FD + 1) && !is_known(FD + 2) && is_known(FD + 3));
	descriptor_forget_range(0, UINT32_MAX);
	ck_assert(!is_known(FD) && !is_known(FD + 3));
	descriptor_forget_range(5, 4);
	descriptor_forget(-1);
	descriptor_forget(INT32_MAX);
}
END_TEST

enum { ROUNDS = 64000 };

static uint32_t round_begun, round_ended;

static void until(const uint32_t *counter, uint32_t value)
{
	while (load_acquire(counter) != value)
		sched_yield();
}

static void *learn_once_a_round(void *unused)
{
	struct self *own = self_enter();

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		until(&round_begun, i);
		(void)descriptors_learn(own, FD);
		store_release(&round_ended, i);
	}
	self_leave(own);
	return unused;
}

/* It becomes another thing while another thread looks it up, a little later in each round. */
START_TEST(what_was_forgotten_meanwhile_is_not_stored)
{
	static const char *const words[] = { "file /dev/null", "file /dev/zero" };
	int fds[2] = { open("/dev/null", O_RDWR), open("/dev/zero", O_RDWR) };
	pthread_t thread;

	dup2(fds[0], FD);
	pthread_create(&thread, NULL, learn_once_a_round, NULL);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		descriptor_forget(FD);
		store_release(&round_begun, i);
		for (uint32_t k = 0; k < i % 16000; k++)
			__asm__ volatile("");
		dup2(fds[i % 2], FD);
		descriptor_forget(FD);
		until(&round_ended, i);
		ck_assert_str_eq(describe(FD), words[i % 2]);
	}
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(an_op_says_what_its_descriptor_is)
{
	int ends[2];
	uint64_t op;
	json_t *lines, *event;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	become("/dev/null", FD);
	op = op_begin(self, KIND_IO, CALL_READ, 0, FD, 0, NULL);
	op_end(self, op, OUTCOME_OK, 1);
	descriptor_accepted(self, ends[0]);
	op = op_begin(self, KIND_POLL, CALL_READ, 0, -1, 0, NULL);
	op_set_descriptor(self, op, -1);
	op_set_descriptor(self, op, ends[0]);
	op_end(self, op, OUTCOME_OK, 1);
	lines = recording_dump(true);
	event = event_of(lines, "k", "io");
	ck_assert_str_eq(name_of(lines, event, "i"), "file /dev/null");
	ck_assert_ptr_null(json_object_get(event, "ac"));
	event = event_of(lines, "k", "poll");
	ck_assert_int_eq(strncmp(name_of(lines, event, "i"), "unix:[", 6), 0);
	ck_assert_int_eq(number_of(event, "fd"), ends[0]);
	ck_assert_int_eq(number_of(event, "ac"), 1);
}
END_TEST

START_TEST(a_pair_is_told_at_its_making)
{
	char wanted[100];
	struct stat status[2];
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	fstat(ends[0], &status[0]);
	fstat(ends[1], &status[1]);
	(void)describe(ends[0]);
	descriptor_paired(ends[0], ends[1]);
	snprintf(wanted, sizeof(wanted), "unix:[%lu]>[%lu]", status[0].st_ino, status[1].st_ino);
	ck_assert_str_eq(describe(ends[0]), wanted);
}
END_TEST

START_TEST(what_is_not_connected_yet_is_asked_again)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_str_eq(describe(fd), "tcp 0.0.0.0:0>*");
	ck_assert(!is_known(fd));
	ck_assert_str_eq(describe(12345), "");
	ck_assert(!is_known(12345));
}
END_TEST

START_TEST(beyond_the_table_is_counted)
{
	ck_assert_str_eq(describe(DESCRIPTORS_MAX), "");
	ck_assert_str_eq(describe(INT32_MAX), "");
	ck_assert_uint_eq(self->slot->counters[COUNTER_undescribed], 2);
	ck_assert_str_eq(describe(DESCRIPTORS_MAX - 1), "");
	ck_assert_uint_eq(self->slot->counters[COUNTER_undescribed], 2);
}
END_TEST

START_TEST(a_crowd_leaves_room_for_other_names)
{
	char name[32];
	int ends[2];

	for (int i = 0; i < STRINGS_MAX / 2; i++)
		string_intern(name, (size_t)snprintf(name, sizeof(name), "name %d", i));
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_str_eq(describe(ends[0]), "pipe");
	ck_assert_uint_eq(self->slot->counters[COUNTER_crowded_descriptors], 1);
	ck_assert_str_eq(describe(ends[0]), "pipe");
	ck_assert_uint_eq(self->slot->counters[COUNTER_crowded_descriptors], 1);
}
END_TEST

START_TEST(another_recording_begins_with_nothing)
{
	become("/dev/null", FD);
	(void)describe(FD);
	switch_disable();
	become("/dev/zero", FD);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_str_eq(describe(FD), "file /dev/zero");
}
END_TEST

/* It shares our memory, not our descriptors. */
START_TEST(a_child_of_vfork_learns_nothing)
{
	int status;
	pid_t pid;

	become("/dev/null", FD);
	ck_assert(recorder_vfork_begins());
	pid = vfork();
	if (pid == 0) {
		(void)descriptors_learn(self, FD);
		_exit(0);
	}
	recorder_vfork_ends();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(!is_known(FD));
	ck_assert_str_eq(describe(FD), "file /dev/null");
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_description_stays_until_it_is_forgotten);
	TEST(a_range_is_forgotten);
	TEST(what_was_forgotten_meanwhile_is_not_stored);
	TEST(an_op_says_what_its_descriptor_is);
	TEST(a_pair_is_told_at_its_making);
	TEST(what_is_not_connected_yet_is_asked_again);
	TEST(beyond_the_table_is_counted);
	TEST(a_crowd_leaves_room_for_other_names);
	TEST(another_recording_begins_with_nothing);
	TEST(a_child_of_vfork_learns_nothing);
}
