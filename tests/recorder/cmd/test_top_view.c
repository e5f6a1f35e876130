/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top shows other numbers than it was given, or in columns of other names. */
#include "../recording.h"

#include <sys/mman.h>

#include "roster.h"
#include "stacks.h"
#include "suite.h"
#include "top_terminal.h"
#include "top_view.h"
#include "visible.h"

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)
enum { BEGIN_S = 900, NOW_S = 1000, TID = 4242, OTHER_TID = 4343, BIG = 0x1000, WIDE = 0x2000 };
enum { SCREEN_BYTES = 65536 };

static struct top_reader reader;
static struct top_labels *labels;
static struct top_sums sums;
static struct top_cpu_thread cpu_threads[] = {
	{ .tid = TID, .name = "worker", .run = 0.25, .queued = 0.125 },
	/* two columns each, and one without any */
	{ .tid = OTHER_TID, .name = "\xe4\xb8\xad\xe6\x96\x87 e\xcc\x81t\xc3\xa9" },
};
static struct top_open_thread open_threads[] = {
	{ .tid = TID, .part = TOP_PARTS },
	{ .tid = OTHER_TID, .part = TOP_LOCK, .lock = BIG, .since_ns = NOW_S * S - 3 * S },
};
static struct top_waiting waiting[] = {
	{ .address = BIG, .waiters = 1, .holder = TID, .held_ns = 3250 * MS },
};
static const struct top_cpu cpu = {
	.threads = cpu_threads, .count = 2, .run = 0.25, .queued = 0.125
};
static struct top_open open_calls = {
	.threads = open_threads, .count = 2, .locks = waiting, .lock_count = 1
};
static const struct top_cost cost = { true, 1.5e6, 0.0125 };
static const char status[] =
	"{\"recording\":\"on\",\"settings\":{\"keep_s\":90,\"thread\":\"\",\"port\":80,"
	"\"holds\":\"contended\",\"sample_hz\":99,\"min_io_ns\":100000},"
	"\"events\":250,\"events_max\":1000,\"full\":\"drop\"}";
static struct top_whatif whatif;
static struct top_state state;
static struct top_lines lines;
static uint32_t thread;

static uint32_t string(const char *text)
{
	return strings_intern(recorder_arena, text, strlen(text));
}

static void add(const struct record *record, int count)
{
	struct top_names names = top_labels_names(labels);
	struct record copy = *record;

	copy.parent = (uint64_t)thread << 32 | 1;
	copy.id = record->id ? record->id : copy.parent;
	if (copy.type == RECORD_WAIT)
		copy.count = thread;
	for (int i = 0; i < count; i++)
		top_sums_add(&sums, &copy, &names);
}

/* In the last nine seconds: 90 reads of 1 ms, 9 waits of 100 ms for one lock, and a hold of 50 ms
 * of another. A request of 400 ms is answered, one of a second is not. */
static void add_events(void)
{
	uint32_t name = string("127.0.0.1:80<9"), other = string("127.0.0.1:80<7");
	uint32_t wide = string("\xe9\x8d\xb5\xe9\x8d\xb5"
			       "-lock-with-a-name-that-is-long");
	struct record record = {
		.type = RECORD_OP, .what = KIND_IO, .name = CALL_READ, .end = 995 * S, .fd = -1
	};

	record.start = record.end - MS;
	add(&record, 90);
	record = (struct record){ .type = RECORD_WAIT, .what = REASON_MUTEX, .value = BIG };
	record.ident = string("big");
	record.end = 996 * S;
	record.start = record.end - 100 * MS;
	add(&record, 9);
	record = (struct record){ .type = RECORD_OP, .what = KIND_HOLD, .value = WIDE };
	record.ident = wide;
	record.end = 996 * S + 100 * MS;
	record.start = record.end - 50 * MS;
	add(&record, 1);
	record = (struct record){
		.type = RECORD_OP, .what = KIND_IO, .name = CALL_READ, .value = 5
	};
	record.flags = RECORD_ACCEPTED;
	record.fd = 9;
	record.ident = name;
	record.start = record.end = 997 * S;
	add(&record, 1);
	record.name = string("write");
	record.end = 997 * S + 400 * MS;
	record.start = record.end - 2 * MS;
	add(&record, 1);
	record.name = CALL_READ;
	record.ident = other;
	record.fd = 7;
	record.start = record.end = 999 * S;
	add(&record, 1);
}

static void begin(void)
{
	recording_begin();
	(void)record_io(1);
	ck_assert_int_eq(top_reader_open(&reader, recorder_arena->path), 0);
	store_relaxed(&roster_slot(recorder_arena, 0)->tid, TID);
	thread = load_relaxed(&roster_slot(recorder_arena, 0)->thread);
	labels = top_labels_begin(&reader, NULL);
	ck_assert(top_sums_begin(&sums, BEGIN_S * S));
	top_whatif_begin(&whatif, "");
	lines.lines = calloc(TOP_LINES_MAX, sizeof(*lines.lines));
	add_events();
	top_sums_tick(&sums, NOW_S * S);
	state = (struct top_state){
		.pid = 4242,
		.program = "server",
		.reader = &reader,
		.sums = &sums,
		.cpu = &cpu,
		.open = &open_calls,
		.labels = labels,
		.now_ns = NOW_S * S,
		.view = { 10 },
		.filter = "",
		.status = status,
		.note = "",
		.cost = &cost,
		.own_cpu = 0.0123,
		.whatif = &whatif,
	};
}

static void end(void)
{
	free(lines.lines);
	top_labels_end(labels);
	top_sums_end(&sums);
	top_reader_close(&reader);
	recording_end();
}

/* The sequences of a screen, which is one line of text below the other then. */
static void take_out(char *text, const char *sequence)
{
	for (char *at = text; (at = strstr(at, sequence));)
		memmove(at, at + strlen(sequence), strlen(at + strlen(sequence)) + 1);
}

static const char *screen(enum top_kind kind, unsigned columns, unsigned rows)
{
	static char text[SCREEN_BYTES];
	const struct top_terminal terminal = { .columns = columns, .rows = rows, .is_on = true };
	int fd = memfd_create("screen", 0), before = dup(STDOUT_FILENO);
	ssize_t got;

	state.columns = columns;
	lines.count = 0;
	top_view_head(&state, &lines);
	top_view_table(&state, kind, rows - lines.count - 2, &lines);
	fflush(stdout);
	ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	top_terminal_show(&terminal, &lines, "prompt");
	ck_assert_int_eq(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
	got = pread(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_gt(got, 0);
	text[got] = '\0';
	close(fd);
	close(before);
	take_out(text, "\033[H");
	take_out(text, "\033[K");
	take_out(text, "\r");
	return text;
}

static const char head[] =
	"wcprof top: server 4242, last 10 s, memory 25% full\n"
	"0.1 requests/s, from read to write: p50 400 ms, p99 400 ms, max 400 ms\n"
	"2 threads: 0.25 on a CPU, 0.12 in the run queue, 1.62 blocked; 11.4 ev"
	"ents/s\n"
	"recording on: holds contended, 99 samples/s, io from 100 us, port 80, "
	"last 90 s\n"
	"costs it 1.50 ms of CPU a second (1.25% of its own); top takes 1.2% of"
	" a CPU\n";

static const struct {
	enum top_kind kind;
	unsigned columns, rows;
	const char *table;
} rows[] = {
	/* 0 */
	{ TOP_CLASSES, 80, 24,
	  "CLASS                          KIND      PER S     TIME/S       MEAN  "
	  "      MAX\n"
	  "big                            wait        1.0     100 ms     100 ms  "
	  "   100 ms\n"
	  "read                           io         10.2    10.0 ms   978.3 us  "
	  "  1.00 ms\n"
	  "\xe9\x8d\xb5\xe9\x8d\xb5-lock-with-a-name-that-is- hold        0.1    "
	  "5.56 ms    50.0 ms    50.0 ms\n"
	  "write                          io          0.1   222.2 us    2.00 ms  "
	  "  2.00 ms\n" },
	/* 1 */
	{ TOP_CLASSES, 200, 50,
	  "CLASS                                                                 "
	  "                               KIND      PER S     TIME/S       MEAN  "
	  "      MAX\n"
	  "big                                                                   "
	  "                               wait        1.0     100 ms     100 ms  "
	  "   100 ms\n"
	  "read                                                                  "
	  "                               io         10.2    10.0 ms   978.3 us  "
	  "  1.00 ms\n"
	  "\xe9\x8d\xb5\xe9\x8d\xb5-lock-with-a-name-that-is-long                "
	  "                                                   hold        0.1    "
	  "5.56 ms    50.0 ms    50.0 ms\n"
	  "write                                                                 "
	  "                               io          0.1   222.2 us    2.00 ms  "
	  "  2.00 ms\n" },
	/* 2 */
	{ TOP_LOCKS, 80, 24,
	  "LOCK                 WAITED/S    WAIT/S  MAX WAIT  NOW HOLDER, SINCE\n"
	  "big                       1.0    433 ms    3.00 s    1 worker 4242, 3."
	  "25 s\n"
	  "\xe9\x8d\xb5\xe9\x8d\xb5-lock-with-a-nam      0.0         -         - "
	  "   0 -\n" },
	/* 3 */
	{ TOP_LOCKS, 200, 50,
	  "LOCK                        TAKEN/S WAITED/S    WAIT/S  MAX WAIT HELD "
	  "MEAN  NOW HOLDER, SINCE\n"
	  "big                             0.0      1.0    433 ms    3.00 s      "
	  "   -    1 worker 4242, 3.25 s\n"
	  "\xe9\x8d\xb5\xe9\x8d\xb5-lock-with-a-name-that      0.1      0.0      "
	  "   -         -   50.0 ms    0 -\n" },
	/* 4 */
	{ TOP_REQUESTS, 80, 24,
	  "     TOOK    AGO CPU+QUEUE        IO     LOCKS     OTHER KIND, CONNECT"
	  "ION\n"
	  "   1.00 s   runs    1.00 s         -         -         - 127.0.0.1:80<"
	  "7\n"
	  "   400 ms   2.6s    398 ms   2.00 ms         -         - 127.0.0.1:80<"
	  "9\n" },
	/* 5 */
	{ TOP_REQUESTS, 200, 50,
	  "     TOOK    AGO CPU+QUEUE        IO     LOCKS     SLEEP     OTHER KIN"
	  "D, CONNECTION\n"
	  "   1.00 s   runs    1.00 s         -         -         -         - 127"
	  ".0.0.1:80<7\n"
	  "   400 ms   2.6s    398 ms   2.00 ms         -         -         - 127"
	  ".0.0.1:80<9\n" },
	/* 6 */
	{ TOP_THREADS, 80, 24,
	  "     TID THREAD              CPU  QUEUE     IO   POLL  LOCKS  SLEEP  O"
	  "THER\n"
	  "    4242 worker            25.0%  12.5%   1.0%   0.0%  10.0%   0.0%   "
	  "0.0%\n"
	  "    4343 \xe4\xb8\xad\xe6\x96\x87 e\xcc\x81t\xc3\xa9           0.0%   "
	  "0.0%   0.0%   0.0%  33.3%   0.0%   0.0%\n" },
	/* 7 */
	{ TOP_THREADS, 200, 50,
	  "     TID THREAD              CPU  QUEUE     IO   POLL  LOCKS  SLEEP  O"
	  "THER\n"
	  "    4242 worker            25.0%  12.5%   1.0%   0.0%  10.0%   0.0%   "
	  "0.0%\n"
	  "    4343 \xe4\xb8\xad\xe6\x96\x87 e\xcc\x81t\xc3\xa9           0.0%   "
	  "0.0%   0.0%   0.0%  33.3%   0.0%   0.0%\n" },
};

START_TEST(each_number_is_in_its_column)
{
	char expect[SCREEN_BYTES];
	size_t used;
	unsigned lines_used = 0;

	begin();
	used = (size_t)snprintf(expect, sizeof(expect), "%s%s", head, rows[_i].table);
	for (const char *at = expect; (at = strchr(at, '\n')); at++)
		lines_used++;
	for (; lines_used + 1 < rows[_i].rows; lines_used++)
		expect[used++] = '\n';
	snprintf(expect + used, sizeof(expect) - used, "prompt");
	ck_assert_str_eq(screen(rows[_i].kind, rows[_i].columns, rows[_i].rows), expect);
	for (size_t i = 0; i < lines.count; i++)
		ck_assert_uint_le(visible_columns(lines.lines[i].text), rows[_i].columns);
	end();
}
END_TEST

START_TEST(words_that_do_not_fit_are_in_the_next_line)
{
	static const char *const expect[] = { "port is 80 now: and", "  this is more than",
					      "  fits", "  intoonelineornot" };

	begin();
	state.columns = 20;
	lines.count = 0;
	top_line_wrap(&lines, TOP_PLAIN, 20,
		      "port is 80 now: and this is more than fits intoonelineornot");
	ck_assert_uint_eq(lines.count, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(lines.lines[i].text, expect[i]);
	end();
}
END_TEST

/* --- slow calls --- */

enum { SLOW_CALLS = TOP_ACTIVITIES + 1 };

/* Calls of 1 ms in the last second, which read for half of it. One in twenty takes 9 ms, and waits
 * for a lock for 6 of them. A sample there tells of code. A moment before takes no time. */
static void add_calls(const char *name, unsigned count, unsigned samples_ms, unsigned queued_ms)
{
	struct record call = { .type = RECORD_OP, .what = KIND_OP_USER };
	struct record read = { .type = RECORD_OP, .what = KIND_IO, .name = CALL_READ, .fd = -1 };
	struct record sample = { .type = RECORD_SAMPLE, .name = thread, .id = MS, .value = MS };
	struct record wait = { .type = RECORD_WAIT, .what = REASON_MUTEX, .value = BIG };

	sample.stack = stacks_intern(recorder_arena, &(uint64_t){ 0x1234 }, 1);
	wait.ident = string("big");
	wait.name = string("pthread_mutex_lock");
	call.start = call.end = 999 * S;
	call.name = string("moment");
	add(&call, 1);
	call.name = string(name);
	for (unsigned i = 0; i < count; i++) {
		call.start = 999 * S + i * 9 * MS;
		call.end = call.start + (i % 20 == 19 ? 9 : 1) * MS;
		read.start = call.start + MS / 4;
		read.end = read.start + MS / 2;
		wait.start = call.start + MS;
		wait.end = wait.start + 6 * MS;
		add(&read, 1);
		if (i % 20 == 19) {
			add(&wait, 1);
			sample.start = sample.end = wait.end;
			sample.value += samples_ms * MS;
			sample.id += queued_ms * MS;
			add(&sample, samples_ms > 0);
		}
		add(&call, 1);
	}
}

static const struct {
	unsigned columns, rows, calls, samples_ms, queued_ms;
	const char *picture;
} pictures[] = {
	/* 0 */
	{ 80, 24, 100, 0, 0,
	  "SLOW CALLS of parse: 5, of 9.00 ms each, against 95 others, of 1.00 ms (f:\n"
	  "  running)\n"
	  "|(code and run queue, |pthread_mutex_lock 6.00 ms/-                         |rea\n"
	  "                      |big 6.00 ms/-                                        |\n" },
	/* 1 */
	{ 200, 50, 100, 0, 0,
	  "SLOW CALLS of parse: 5, of 9.00 ms each, against 95 others, of 1.00 ms (f: running)\n"
	  "|(code and run queue, not sampled) 2.50 ms/500.0 us     |pthread_mutex_lock 6.00 ms/-"
	  "                                                                                   "
	  "                     |read      \n"
	  "                                                        |big 6.00 ms/-              "
	  "                                                                                   "
	  "                      |\n" },
	/* 2 */
	{ 80, 24, 100, 2, 0,
	  "SLOW CALLS of parse: 5, of 9.00 ms each, against 95 others, of 1.00 ms (f:\n"
	  "  running)\n"
	  "|(code a|0x1234       |pthread_mutex_lock 6.00 ms/-                         |rea\n"
	  "                      |big 6.00 ms/-                                        |\n" },
	/* 3: samples stand for more time than there was */
	{ 200, 50, 100, 5, 0,
	  "SLOW CALLS of parse: 5, of 9.00 ms each, against 95 others, of 1.00 ms (f: running)\n"
	  "|(code and run queue, too short for samples)            |pthread_mutex_lock 6.00 ms/-"
	  "                                                                                   "
	  "                     |read      \n"
	  "                                                        |big 6.00 ms/-              "
	  "                                                                                   "
	  "                      |\n" },
	/* 4: the run queue has too much, code has not */
	{ 80, 24, 100, 2, 8,
	  "SLOW CALLS of parse: 5, of 9.00 ms each, against 95 others, of 1.00 ms (f:\n"
	  "  running)\n"
	  "|(code a|0x1234       |pthread_mutex_lock 6.00 ms/-                         |rea\n"
	  "                      |big 6.00 ms/-                                        |\n" },
	/* 5 */
	{ 80, 24, 49, 0, 0,
	  "SLOW CALLS of parse: too few to tell, 49 of 50 (f: running)\n"
	  "a longer window has more calls: ]\n" },
};

/* Without the lines above it, and empty ones below. */
static const char *picture(unsigned columns, unsigned height)
{
	char *text = strstr(screen(TOP_ICICLE, columns, height), "SLOW ");
	size_t used;

	ck_assert_ptr_nonnull(text);
	used = strlen(text) - strlen("prompt");
	while (used > 1 && text[used - 2] == '\n')
		used--;
	text[used] = '\0';
	return text;
}

START_TEST(slow_calls_are_beside_the_others)
{
	begin();
	add_calls("parse", pictures[_i].calls, pictures[_i].samples_ms, pictures[_i].queued_ms);
	state.picture = (struct top_picture){ SLOW_CALLS, string("parse") };
	ck_assert_str_eq(picture(pictures[_i].columns, pictures[_i].rows), pictures[_i].picture);
	end();
}
END_TEST

/* There and back: sorts of time, slow requests, and functions in the order of their names' ids. */
START_TEST(each_function_that_was_called_has_a_picture)
{
	struct top_picture at = { .number = TOP_ACTIVITIES };
	uint32_t calls[3] = { 0 };

	begin();
	add_calls("parse", 1, 0, 0);
	add_calls("rebuild", 1, 0, 0);
	calls[0] = string("parse");
	calls[1] = string("rebuild");
	for (unsigned i = 0; i < 3; i++) {
		at = top_picture_next(&sums, BEGIN_S * S, at, false);
		ck_assert_uint_eq(at.number, i < 2 ? SLOW_CALLS : 0);
		ck_assert_uint_eq(at.call, calls[i]);
	}
	for (unsigned i = 2; i-- > 0;) {
		at = top_picture_next(&sums, BEGIN_S * S, at, true);
		ck_assert_uint_eq(at.number, SLOW_CALLS);
		ck_assert_uint_eq(at.call, calls[i]);
	}
	for (unsigned i = TOP_ACTIVITIES + 1; i-- > 0;) {
		at = top_picture_next(&sums, BEGIN_S * S, at, true);
		ck_assert_uint_eq(at.number, i);
		ck_assert_uint_eq(at.call, 0);
	}
	at = top_picture_next(&sums, NOW_S * S, at, true); /* nothing was called since then */
	ck_assert_uint_eq(at.number, TOP_ACTIVITIES);
	end();
}
END_TEST

START_TEST(calls_a_second_are_those_of_the_time_that_they_fill)
{
	struct record call = { .type = RECORD_OP, .what = KIND_OP_USER, .end = NOW_S * S - S / 2 };

	begin();
	call.name = string("parse");
	call.start = call.end - MS;
	add(&call, 2 * TOP_CALLS_MAX);
	ck_assert_ptr_nonnull(strstr(screen(TOP_PROBES, 80, 24), " 131.1k   1.00 ms   1.00 ms"));
	end();
}
END_TEST

SUITE()
{
	TEST(calls_a_second_are_those_of_the_time_that_they_fill);
	TEST(each_function_that_was_called_has_a_picture);
	EACH(slow_calls_are_beside_the_others, pictures);
	EACH(each_number_is_in_its_column, rows);
	TEST(words_that_do_not_fit_are_in_the_next_line);
}
