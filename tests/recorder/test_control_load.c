/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, events are lost or handed out twice where many threads, dumps and clients meet. */
#include "control.h"

#include "asking.h"
#include "suite.h"

/* The thread sanitizer waits for itself where a signal that asks for a stack comes in the midst of
 * its own doings. */
#ifndef __SANITIZE_THREAD__
static uint32_t begun, ended;

static void *live_shortly(void *unused)
{
	record_io(1);
	thread_end();
	return unused;
}

static void *make_threads(void *unused)
{
	while (!load_relaxed(&ended)) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, live_shortly, NULL) == 0)
			pthread_join(thread, NULL);
		store_relaxed(&begun, 1);
	}
	return unused;
}

/* While threads come and go, half of the clients do not stay for the answer. Those that stay have
 * one, be it that another is asking. */
START_TEST(stacks_of_threads_that_come_and_go)
{
	pthread_t maker;

	pthread_create(&maker, NULL, make_threads, NULL);
	while (!load_relaxed(&begun))
		continue;
	for (int i = 0; i < 200; i++) {
		int gone = connect_to_recorder(), fd = connect_to_recorder();
		const char *line;

		send_text(gone, "STACKS\n", 7);
		send_text(fd, "STACKS\n", 7);
		if (i % 2)
			(void)read_line(gone);
		close(gone);
		line = read_line(fd);
		ck_assert(strncmp(line, "OK ", 3) == 0 || strncmp(line, "ERR busy ", 9) == 0);
		close(fd);
	}
	store_relaxed(&ended, 1);
	pthread_join(maker, NULL);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { VERY_MANY = 200000, SWITCHES = 100, DUMPS = 5, PAUSE_US = 20000 };
#else
enum { VERY_MANY = 4000000, SWITCHES = 1000, DUMPS = 50, PAUSE_US = 100 };
#endif

/* Counts ops `io` in what comes, up to so many bytes or the end of file; remembers half a line. */
struct counting {
	char bytes[1 << 16];
	size_t kept;
	uint64_t count;
	bool has_ended;
};

static void count_some(struct counting *counting, int fd, size_t most)
{
	static const char word[] = "\"k\":\"io\"";

	while (most > 0 && !counting->has_ended) {
		size_t room = sizeof(counting->bytes) - 1 - counting->kept;
		ssize_t got = read(fd, counting->bytes + counting->kept, room < most ? room : most);
		char *at = counting->bytes, *end, *next;

		counting->has_ended = got <= 0;
		if (got <= 0)
			return;
		most -= (size_t)got;
		counting->kept += (size_t)got;
		end = counting->bytes + counting->kept;
		/* Of a string ASan looks at all that is left, each time. */
		for (; (next = memmem(at, (size_t)(end - at), word, strlen(word)));
		     at = next + strlen(word))
			counting->count++;
		/* The word may be cut in two by the buffer's end. */
		if (end - at > (long)strlen(word))
			at = end - strlen(word);
		counting->kept -= (size_t)(at - counting->bytes);
		memmove(counting->bytes, at, counting->kept);
	}
}

static uint64_t count_dump(int fd)
{
	static struct counting counting;

	counting = (struct counting){ .kept = 0 };
	count_some(&counting, fd, SIZE_MAX);
	close(fd);
	return counting.count;
}

static int ask(const char *line)
{
	int fd = connect_to_recorder();

	send_text(fd, line, strlen(line));
	shutdown(fd, SHUT_WR);
	return fd;
}

/* That a reader has gone away is noticed a moment later. */
static int ask_until_dumped(void)
{
	char first;
	int fd = ask("DUMP\n");

	while (recv(fd, &first, 1, MSG_PEEK) != 1 || first != '{') {
		close(fd);
		fd = ask("DUMP\n");
	}
	return fd;
}

/* The first reader stalls, longer than anybody has patience for, and goes away in the middle; the
 * program goes on meanwhile. The second gets everything, and the third only what came since. */
START_TEST(a_large_dump_to_bad_readers)
{
	static struct counting counting;
	uint64_t since = 0;
	int fd;

	for (int i = 0; i < VERY_MANY; i++)
		ck_assert_uint_ne(record_io(1), 0);
	fd = ask_until_dumped();
	count_some(&counting, fd, 1 << 20);
	ck_assert_uint_gt(counting.count, 0);
	for (; since < 1000; since++)
		ck_assert_uint_ne(record_io(1), 0);
	close(fd);
	fd = ask_until_dumped();
	counting = (struct counting){ .kept = 0 };
	count_some(&counting, fd, 1 << 20);
	for (; since < 2000; since++)
		ck_assert_uint_ne(record_io(1), 0);
	pause_ms(500);
	count_some(&counting, fd, SIZE_MAX);
	close(fd);
	ck_assert_uint_eq(counting.count, VERY_MANY + 1000);
	ck_assert_uint_eq(count_dump(ask_until_dumped()), 1000);
	ck_assert_uint_eq(count_dump(ask_until_dumped()), 0);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST

static uint32_t recorded, handed_out, stop;

static void *record_on_and_on(void *unused)
{
	while (!load_relaxed(&stop)) {
		for (int i = 0; i < 100; i++)
			add_relaxed(&recorded, record_io(1) != 0);
		/* Or events would come faster than dumps can be written. */
		usleep(PAUSE_US);
	}
	thread_end();
	return unused;
}

/* Dumps, some of which it leaves in the middle. One that is refused hands out nothing. */
static void *dump_on_and_on(void *seed)
{
	unsigned int state = (unsigned int)(uintptr_t)seed;
	struct counting *counting = malloc(sizeof(*counting));

	for (int i = 0; i < DUMPS; i++) {
		int fd = ask("DUMP\n");

		*counting = (struct counting){ .kept = 0 };
		count_some(counting, fd,
			   rand_r(&state) % 3 ? SIZE_MAX : (size_t)rand_r(&state) % 65536);
		if (counting->has_ended)
			add_relaxed(&handed_out, (uint32_t)counting->count);
		close(fd);
	}
	free(counting);
	return NULL;
}

/* While threads record, two ask for dumps, and a third turns recording on and off as fast as it
 * can. Each event is handed out once. */
START_TEST(many_dumps_at_once)
{
	pthread_t threads[5];
	int switches = 0;

	setenv("WCPROF_MAX_EVENTS", "100000000", 1);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, record_on_and_on, NULL);
	for (uintptr_t i = 3; i < 5; i++)
		pthread_create(&threads[i], NULL, dump_on_and_on, (void *)i);
	for (; switches < SWITCHES; switches++) {
		int fd =
			ask(switches % 2 ? "ENABLE\nSET holds=all\n" : "DISABLE\nSET holds=none\n");

		ck_assert(strncmp(read_line(fd), "OK ", 3) == 0);
		ck_assert(strncmp(read_line(fd), "OK ", 3) == 0);
		close(fd);
	}
	for (int i = 3; i < 5; i++)
		pthread_join(threads[i], NULL);
	store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* Ops that were open when recording was turned off are recorded when they end, or later. */
	handed_out += (uint32_t)count_dump(ask_until_dumped());
	ck_assert_uint_gt(handed_out, 0);
	ck_assert_uint_eq(handed_out + snapshot_losses(recorder_arena), recorded);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
#ifndef __SANITIZE_THREAD__
	TEST(stacks_of_threads_that_come_and_go);
#endif
	TEST(a_large_dump_to_bad_readers);
	TEST(many_dumps_at_once);
}
