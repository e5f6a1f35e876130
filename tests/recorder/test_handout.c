/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump counts as handed out that its reader never had, or two get in each other's
 * way. */
#include "handout.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "recording.h"
#include "suite.h"

static struct client client;
static int reader;

static void connect_client(void)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	client.fd = pair[0];
	client.is_dumping = false;
	reader = pair[1];
	handout_reset_answer(&client);
}

static void setup(void)
{
	recording_begin();
	for (int i = 0; i < 5000; i++)
		record_io(1);
	connect_client();
}

static void teardown(void)
{
	handout_leave();
	close(reader);
	recording_end();
}

/* Takes all that comes until the end, as the control thread's rounds bring it; the bytes. */
static size_t read_all(void)
{
	static char bytes[65536];
	size_t all = 0;
	ssize_t got = -1;

	for (int i = 0; i < 100000 && got != 0; i++) {
		handout_poll(POLLOUT);
		got = recv(reader, bytes, sizeof(bytes), 0);
		all += got > 0 ? (size_t)got : 0;
	}
	ck_assert_int_eq(got, 0);
	return all;
}

START_TEST(a_dump_that_was_read_is_not_in_the_next)
{
	ck_assert_int_eq(handout_dump(&client, true, false, 0), 0);
	ck_assert(client.is_dumping && handout_is_busy());
	ck_assert_uint_gt(read_all(), 100000);
	while (handout_is_busy())
		handout_poll(0);
	ck_assert_int_eq(client.fd, -1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

START_TEST(unless_it_is_not_to_be_flushed)
{
	uint64_t pending = snapshot_pending(recorder_arena);

	ck_assert_int_eq(handout_dump(&client, false, false, 0), 0);
	read_all();
	while (handout_is_busy())
		handout_poll(0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), pending);
}
END_TEST

START_TEST(a_reader_that_goes_away_has_nothing)
{
	uint64_t pending = snapshot_pending(recorder_arena);

	ck_assert_int_eq(handout_dump(&client, true, false, 0), 0);
	handout_continue();
	close(reader);
	for (int i = 0; i < 1000 && handout_is_busy(); i++)
		handout_poll(POLLOUT);
	ck_assert(!handout_is_busy());
	ck_assert_uint_eq(snapshot_pending(recorder_arena), pending);
	reader = -1;
}
END_TEST

/* With ack=1 the end of the dump is not enough; the word is, and no other. */
static const struct {
	const char *word;
	bool is_kept;
} words[] = {
	/* 0 */ { "KEPT\n", true },
	/* 1 */ { "LOST\n", false },
	/* 2: it goes away */ { "", false },
};

START_TEST(a_reader_may_say_when_it_has_kept_it)
{
	uint64_t pending = snapshot_pending(recorder_arena);

	ck_assert_int_eq(handout_dump(&client, true, true, 0), 0);
	read_all();
	handout_poll(0);
	ck_assert(handout_is_busy() && handout_is_waiting(&client));
	ck_assert_uint_eq(snapshot_pending(recorder_arena), pending);
	if (words[_i].word[0])
		ck_assert_int_gt(send(reader, words[_i].word, strlen(words[_i].word), 0), 0);
	else
		shutdown(reader, SHUT_RDWR);
	while (handout_is_busy())
		handout_poll(0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), words[_i].is_kept ? 0 : pending);
}
END_TEST

START_TEST(one_at_a_time)
{
	static struct client other = { .fd = -1 };

	ck_assert_int_eq(handout_dump(&client, true, false, 0), 0);
	ck_assert_int_eq(handout_dump(&other, true, false, 0), -EBUSY);
	ck_assert(!other.is_dumping);
	ck_assert_int_eq(handout_stacks(&other), 0);
	ck_assert(handout_is_asking(&other) && handout_is_waiting(&other));
	ck_assert_int_eq(handout_stacks(&client), -EBUSY);
	handout_leave();
	ck_assert(!handout_is_busy() && !handout_is_asking(&other));
}
END_TEST

START_TEST(stacks_come_when_all_have_answered)
{
	ck_assert_int_eq(handout_stacks(&client), 0);
	while (handout_is_asking(&client))
		ck_assert_ptr_null(handout_tick(clock_take_pair().mono_ns));
	ck_assert(client.has_survey);
	ck_assert_int_eq(strncmp(client.answer.bytes, "OK {\"pid\":", 10), 0);
	handout_close(&client);
	ck_assert(!client.has_survey && client.answer.used == 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_dump_that_was_read_is_not_in_the_next);
	TEST(unless_it_is_not_to_be_flushed);
	TEST(a_reader_that_goes_away_has_nothing);
	EACH(a_reader_may_say_when_it_has_kept_it, words);
	TEST(one_at_a_time);
	TEST(stacks_come_when_all_have_answered);
}
