/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what went through a socket of the unix kind never arrives at the other end. */
#include "peers.h"

#include "recording.h"
#include "suite.h"

#include <sys/socket.h>
#include <sys/stat.h>

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static uint32_t inode_of(int fd)
{
	struct stat status;

	ck_assert_int_eq(fstat(fd, &status), 0);
	return (uint32_t)status.st_ino;
}

START_TEST(the_kernel_knows_the_other_end)
{
	int ends[2], others[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	peers_want(recorder_arena, inode_of(ends[0]));
	peers_want(recorder_arena, inode_of(others[1]));
	ck_assert(peers_are_wanted(recorder_arena));
	peers_find(recorder_arena);
	ck_assert(!peers_are_wanted(recorder_arena));
	ck_assert_uint_eq(peers_at(recorder_arena, 0)->peer, inode_of(ends[1]));
	ck_assert_uint_eq(peers_at(recorder_arena, 1)->peer, inode_of(others[0]));
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unknown_peers], 0);
}
END_TEST

START_TEST(what_is_closed_is_not_known)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	uint32_t inode = inode_of(ends[0]);
	close(ends[0]);
	close(ends[1]);
	peers_want(recorder_arena, inode);
	peers_find(recorder_arena);
	ck_assert_uint_eq(peers_at(recorder_arena, 0)->peer, 0);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unknown_peers], 1);
	json_t *header = json_array_get(recording_dump(false), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(header, "peers")), 0);
}
END_TEST

/* No memory now is no memory now: what is wanted later is looked up. */
START_TEST(want_of_memory_ends)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	recorder_arena->starved_until = UINT64_MAX;
	peers_want(recorder_arena, inode_of(ends[0]));
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unknown_peers], 1);
	peers_find(recorder_arena);
	recorder_arena->starved_until = 0;
	peers_want(recorder_arena, inode_of(ends[1]));
	ck_assert(peers_are_wanted(recorder_arena));
	peers_find(recorder_arena);
	ck_assert(!peers_are_wanted(recorder_arena));
	ck_assert_uint_eq(peers_at(recorder_arena, 0)->peer, inode_of(ends[0]));
}
END_TEST

/* Whoever took a place and never came to count it is counted by the next one. */
START_TEST(an_interrupted_wish_is_found)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	peers_want(recorder_arena, inode_of(ends[0]));
	recorder_arena->peers_wanted = 0;
	peers_want(recorder_arena, inode_of(ends[1]));
	peers_find(recorder_arena);
	ck_assert_uint_eq(peers_at(recorder_arena, 0)->peer, inode_of(ends[1]));
	ck_assert_uint_eq(peers_at(recorder_arena, 1)->peer, inode_of(ends[0]));
}
END_TEST

START_TEST(the_table_has_an_end)
{
	for (uint32_t i = 0; i < PEERS_MAX + 3; i++)
		peers_want(recorder_arena, UINT32_MAX - i);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unknown_peers], 3);
	peers_find(recorder_arena);
	ck_assert_uint_eq(recorder_arena->peers_sought, PEERS_MAX);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unknown_peers], PEERS_MAX + 3);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_kernel_knows_the_other_end);
	TEST(what_is_closed_is_not_known);
	TEST(want_of_memory_ends);
	TEST(an_interrupted_wish_is_found);
	TEST(the_table_has_an_end);
}
