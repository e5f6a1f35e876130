/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a read is tied to bytes that were not written to it, or a torn flow is taken for a
 * whole one. */
#include "infer/flows.h"

#include "sketch.h"
#include "suite.h"

START_TEST(ends_are_matched_and_offsets_count)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t first = sketch_io(&sketch, 0, "write", "tcp a>b", 10, 1, 2);
	uint32_t second = sketch_io(&sketch, 0, "writev", "tcp a>b", 30, 20, 21);
	uint32_t early = sketch_io(&sketch, 1, "recv", "tcp b>a", 4, 3, 4);
	uint32_t late = sketch_io(&sketch, 1, "read", "tcp b>a", 36, 5, 25);
	uint32_t other = sketch_io(&sketch, 1, "read", "tcp b>c", 36, 5, 25);
	uint32_t file = sketch_io(&sketch, 1, "read", "file /etc/passwd", 36, 5, 25);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	const struct transfer *transfers = flows.transfers;
	ck_assert_uint_eq(transfers[flows.transfer_of[first]].flow,
			  transfers[flows.transfer_of[late]].flow);
	ck_assert(transfers[flows.transfer_of[second]].is_write);
	ck_assert(!transfers[flows.transfer_of[early]].has_waited);
	ck_assert(transfers[flows.transfer_of[late]].has_waited);
	ck_assert(!transfers[flows.transfer_of[first]].has_woken);
	ck_assert(transfers[flows.transfer_of[second]].has_woken);
	ck_assert(!transfers[flows.transfer_of[late]].has_woken);
	ck_assert_uint_eq(transfers[flows.transfer_of[late]].latency_ns, 5 * SKETCH_MS);
	ck_assert_uint_eq(transfers[flows.transfer_of[late]].first_ns, 1 * SKETCH_MS);
	ck_assert_uint_eq(flows.transfer_of[other], NO_INDEX);
	ck_assert_uint_eq(flows.transfer_of[file], NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(bytes_from_nowhere_make_a_flow_unusable)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t write = sketch_io(&sketch, 0, "write", "pipe:[7]", 10, 1, 2);
	uint32_t read = sketch_io(&sketch, 1, "read", "pipe:[7]", 11, 3, 4);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_eq(flows.transfer_of[write], NO_INDEX);
	ck_assert_uint_eq(flows.transfer_of[read], NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* At a program's end libc writes what is left in its streams, which no call shows. */
START_TEST(only_the_last_bytes_may_come_from_nowhere)
{
	struct sketch sketch;
	struct flows flows;

	for (int more = 0; more < 2; more++) {
		sketch_begin(&sketch);
		sketch_thread(&sketch, "a", 0, 100);
		sketch_thread(&sketch, "b", 0, 100);
		sketch_io(&sketch, 0, "fwrite", "pipe:[7]", 4096, 1, 2);
		uint32_t read = sketch_io(&sketch, 1, "read", "pipe:[7]", 4096, 0, 3);
		uint32_t last = sketch_io(&sketch, 1, "read", "pipe:[7]", 11, 3, 9);
		if (more)
			sketch_io(&sketch, 0, "fwrite", "pipe:[7]", 4096, 10, 10);
		sketch_end(&sketch);
		flows_build(&flows, &sketch.rec);
		ck_assert_int_eq(flows.transfer_of[read] == NO_INDEX, more);
		ck_assert_uint_eq(flows.transfer_of[last], NO_INDEX);
		flows_free(&flows);
		sketch_free(&sketch);
	}
}
END_TEST

/* One end is recorded later than the other, and longer, or bytes were under way when it began. */
START_TEST(a_recording_may_begin_in_the_middle)
{
	struct sketch sketch;
	struct flows flows;

	for (int is_under_way = 0; is_under_way < 2; is_under_way++) {
		sketch_begin(&sketch);
		sketch_thread(&sketch, "a", 0, 100);
		sketch_thread(&sketch, "b", 0, 100);
		if (is_under_way)
			sketch_io(&sketch, 1, "read", "tcp b>a", 16, 0.5, 1);
		else
			sketch_io(&sketch, 0, "write", "tcp a>b", 16, 0.5, 1);
		uint32_t write = sketch_io(&sketch, 0, "write", "tcp a>b", 16, 5, 5.1);
		uint32_t read = sketch_io(&sketch, 1, "read", "tcp b>a", 16, 3, 5.2);
		sketch_io(&sketch, 0, "write", "tcp a>b", 16, 9, 9.1);
		uint32_t second = sketch_io(&sketch, 1, "read", "tcp b>a", 16, 6, 9.2);
		uint32_t last = sketch_io(&sketch, 1, "read", "tcp b>a", 16, 10, 12);
		sketch_end(&sketch);
		flows_build(&flows, &sketch.rec);
		ck_assert_uint_ne(flows.transfer_of[write], NO_INDEX);
		ck_assert_uint_ne(flows.transfer_of[read], NO_INDEX);
		ck_assert_uint_ne(flows.transfer_of[second], NO_INDEX);
		ck_assert(flows.transfers[flows.transfer_of[read]].has_waited);
		ck_assert(flows.transfers[flows.transfer_of[second]].has_waited);
		ck_assert_uint_eq(flows.transfer_of[last], NO_INDEX);
		flows_free(&flows);
		sketch_free(&sketch);
	}
}
END_TEST

START_TEST(a_waiting_write_shows_the_capacity)
{
	struct sketch sketch;
	struct flows flows;

	/* 100 bytes each; the third is let in when the first has been read */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 1, 1.01);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 2, 2.01);
	uint32_t third = sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 3, 10.01);
	uint32_t first = sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 9.9, 10);
	uint32_t second = sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 19.9, 20);
	sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 29.9, 30);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert(flows.transfers[flows.transfer_of[third]].has_waited);
	ck_assert(flows.transfers[flows.transfer_of[first]].has_woken);
	ck_assert(!flows.transfers[flows.transfer_of[second]].has_woken);
	ck_assert_uint_eq(flows.flows[0].capacity, 200);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* A call that connects by TCP waits for no accept, however long it takes. By a path it does. */
static const struct {
	const char *connects;
	const char *accepts;
	bool has_waited;
} listeners[] = {
	{ "tcp 1.1.1.1:5>1.1.1.1:80", "tcp listen 1.1.1.1:80", false },
	{ "unix /run/s#4", "unix listen /run/s", true },
};

START_TEST(a_listener_has_room_or_refuses)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t call = sketch_io(&sketch, 0, "connect", listeners[_i].connects, 0, 1, 3);
	sketch_io(&sketch, 1, "accept", listeners[_i].accepts, 0, 1.5, 2);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_ne(flows.transfer_of[call], NO_INDEX);
	ck_assert_int_eq(flows.transfers[flows.transfer_of[call]].has_waited,
			 listeners[_i].has_waited);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* Descriptions of one connection's two ends, and whether their bytes are known to be the same. */
static const struct {
	const char *writer;
	const char *reader;
	bool is_one;
} unix_ends[] = {
	/* 0 */ { "unix:[7]>[8]", "unix:[8]>[7]", true },
	/* 1 */ { "unix:[7]>[8]", "unix:[8]", true }, /* passed to who did not see it made */
	/* 2 */ { "unix:[7]", "unix:[8]", false },
	/* 3 */ { "unix /run/s#21", "unix /run/s#22", true }, /* the kernel said so */
	/* 4 */ { "unix:[22]", "unix /run/s#21", true },
	/* 5 */ { "unix /run/s#21", "unix /run/s#23", false },
	/* 6 */ { "unix /run/#s#21", "unix @a b#22", true },
	/* 7 */ { "unix dgram /run/s#21", "unix dgram /run/s#22", false },
	/* 8 */ { "unix seqpacket /run/s#21", "unix seqpacket /run/s#22", true },
	/* 9 */ { "unix listen /run/s", "unix /run/s", false },
	/* 10 */ { "unix:[7]>[8]", "unix:[7]>[8]", false },
};

START_TEST(unix_sockets_meet_by_inode)
{
	struct rec_peer peer = { 22, 21, 0 };
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch.rec.peers = &peer;
	sketch.rec.peer_count = 1;
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t write = sketch_io(&sketch, 0, "write", unix_ends[_i].writer, 10, 1, 2);
	uint32_t read = sketch_io(&sketch, 1, "read", unix_ends[_i].reader, 10, 3, 4);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_int_eq(flows.transfer_of[write] != NO_INDEX, unix_ends[_i].is_one);
	ck_assert_int_eq(flows.transfer_of[read] != NO_INDEX, unix_ends[_i].is_one);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* Calls of libc for its streams that follow each other are one flow. */
static const struct {
	const char *write;
	const char *flush;
	const char *read;
} streams[] = {
	/* 0 */ { "fwrite", "fflush", "fread" },
	/* 1 */ { "printf", "fclose", "getc" },
	/* 2 */ { "putc", "fseek", "getdelim" },
	/* 3 */ { "puts", "fsetpos", "fgets" },
	/* 4 */ { "fprintf", "fflush", "getline" },
	/* 5 */ { "putchar", "dprintf", "fscanf" },
};

START_TEST(streams_read_and_write)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_io(&sketch, 0, streams[_i].write, "pipe:[7]", 4096, 1, 2);
	uint32_t flush = sketch_io(&sketch, 0, streams[_i].flush, "pipe:[7]", 8, 20, 21);
	sketch_io(&sketch, 1, "read", "pipe:[7]", 4096, 1, 3);
	uint32_t read = sketch_io(&sketch, 1, streams[_i].read, "pipe:[7]", 8, 4, 25);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_ne(flows.transfer_of[read], NO_INDEX);
	ck_assert(flows.transfers[flows.transfer_of[flush]].is_write);
	ck_assert(!flows.transfers[flows.transfer_of[read]].is_write);
	ck_assert(flows.transfers[flows.transfer_of[read]].has_waited);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* A call between two descriptors: how it is called, what it takes from and gives to. */
static const struct {
	const char *call;
	const char *own;
	const char *other;
	bool takes;
	bool gives;
} between[] = {
	/* 0 */ { "splice", "pipe:[1]", "pipe:[2]", true, true },
	/* 1 */ { "tee", "pipe:[1]", "pipe:[2]", false, true },
	/* 2 */ { "sendfile", "pipe:[2]", "pipe:[1]", true, true },
	/* 3 */ { "splice", "pipe:[1]", "file /x", true, false },
	/* 4 */ { "splice", "file /x", "pipe:[2]", false, true },
	/* 5 */ { "copy_file_range", "file /x", "file /y", false, false },
	/* 6 */ { "vmsplice", "pipe:[2]", "", false, true },
};

START_TEST(what_has_two_ends_is_in_two_flows)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_thread(&sketch, "c", 0, 100);
	uint32_t write = sketch_io(&sketch, 0, "write", "pipe:[1]", 10, 1, 2);
	uint32_t op = sketch_io(&sketch, 1, between[_i].call, between[_i].own, 10, 0, 3);
	sketch.rec.extras[op].other_ident = sketch_string(&sketch, between[_i].other);
	uint32_t read = sketch_io(&sketch, 2, "read", "pipe:[2]", 10, 0, 4);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_int_eq(flows.transfer_of[write] != NO_INDEX, between[_i].takes);
	ck_assert_int_eq(flows.transfer_of[read] != NO_INDEX, between[_i].gives);
	bool is_send = strcmp(between[_i].call, "sendfile") == 0 ||
		       strcmp(between[_i].call, "vmsplice") == 0;
	uint32_t taken = is_send ? flows.other_of[op] : flows.transfer_of[op];
	uint32_t given = is_send ? flows.transfer_of[op] : flows.other_of[op];
	ck_assert_int_eq(taken != NO_INDEX && !flows.transfers[taken].is_write, between[_i].takes);
	ck_assert_int_eq(given != NO_INDEX && flows.transfers[given].is_write, between[_i].gives);
	if (between[_i].takes)
		ck_assert(flows.transfers[taken].has_waited);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* Uses of a pipe, with how many bytes, by two processes. The second one has two threads. */
static const struct {
	struct {
		uint32_t thread;
		const char *call;
		uint64_t bytes;
	} uses[6];
	const char *ident;
	bool is_given_back;
	bool is_shared;
	uint64_t initial;
} pipes[] = {
	/* 0: a job server's, all of it */
	{ { { 0, "write", 2 }, { 0, "read", 1 }, { 1, "read", 1 }, { 1, "write", 1 } },
	  "pipe:[7]",
	  true,
	  false,
	  0 },
	/* 1: from the middle, or of a server that is not recorded */
	{ { { 0, "read", 1 }, { 1, "read", 1 }, { 1, "write", 1 }, { 0, "write", 1 } },
	  "pipe:[7]",
	  true,
	  false,
	  2 },
	/* 2: with a name */
	{ { { 0, "read", 1 }, { 0, "write", 1 }, { 1, "read", 1 } },
	  "fifo /tmp/jobs",
	  true,
	  false,
	  1 },
	/* 3: jobs for others */
	{ { { 0, "write", 1 }, { 0, "write", 1 }, { 1, "read", 1 }, { 2, "read", 1 } },
	  "pipe:[7]",
	  false,
	  true,
	  0 },
	/* 4: the same within a process */
	{ { { 1, "write", 1 }, { 1, "write", 1 }, { 2, "read", 1 } }, "pipe:[7]", false, false, 0 },
	/* 5: a thread that wakes itself */
	{ { { 1, "write", 1 }, { 1, "read", 1 }, { 2, "read", 1 } }, "pipe:[7]", true, false, 1 },
	/* 6: not one size */
	{ { { 0, "write", 9 }, { 1, "read", 4 }, { 1, "read", 5 }, { 1, "write", 1 } },
	  "pipe:[7]",
	  false,
	  false,
	  0 },
	/* 7: a connection is no pipe */
	{ { { 0, "write", 1 }, { 1, "read", 1 }, { 1, "read", 1 } },
	  "unix:[7]>[7]",
	  false,
	  false,
	  0 },
};

START_TEST(bytes_that_are_given_back_are_permits)
{
	struct rec_process processes[2];
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	processes[0] = processes[1] = sketch.process;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	for (uint32_t t = 0; t < 3; t++) {
		sketch_thread(&sketch, "user", 0, 100);
		sketch.rec.threads[t].process = t > 0;
	}
	uint32_t last = 0;
	for (int i = 0; pipes[_i].uses[i].call; i++)
		last = sketch_io(&sketch, pipes[_i].uses[i].thread, pipes[_i].uses[i].call,
				 pipes[_i].ident, pipes[_i].uses[i].bytes, 10 * i + 1, 10 * i + 2);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_eq(flows.flow_count, 1);
	ck_assert_int_eq(flows.flows[0].is_given_back, pipes[_i].is_given_back);
	ck_assert_int_eq(flows.flows[0].is_shared, pipes[_i].is_shared);
	ck_assert_uint_eq(flows.flows[0].initial, pipes[_i].initial);
	ck_assert(!pipes[_i].is_given_back || flows.transfer_of[last] != NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* Of three reads two have permits that were there; the third waits for the first one's return. */
START_TEST(a_permit_that_was_there_is_not_waited_for)
{
	struct sketch sketch;
	struct flows flows;
	uint32_t reads[3];

	sketch_begin(&sketch);
	for (int t = 0; t < 3; t++)
		sketch_thread(&sketch, "user", 0, 100);
	reads[0] = sketch_io(&sketch, 0, "read", "pipe:[7]", 1, 1, 2);
	reads[1] = sketch_io(&sketch, 1, "read", "pipe:[7]", 1, 3, 4);
	reads[2] = sketch_io(&sketch, 2, "read", "pipe:[7]", 1, 5, 31);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 1, 30, 30.5);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_eq(flows.flows[0].initial, 2);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(flows.transfers[flows.transfer_of[reads[i]]].has_waited, i == 2);
	ck_assert_uint_eq(flows.transfers[flows.transfer_of[reads[2]]].latency_ns, SKETCH_MS);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_poll_takes_nothing)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_io(&sketch, 0, "write", "tcp a>b", 10, 1, 2);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 1, 3, 3.01);
	sketch.rec.extras[poll].amount = 2;
	sketch.rec.ops[poll].ident = sketch_string(&sketch, "tcp b>a");
	uint32_t read = sketch_io(&sketch, 1, "read", "tcp b>a", 10, 3, 4);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_eq(flows.transfer_of[poll], NO_INDEX);
	ck_assert_uint_ne(flows.transfer_of[read], NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* The first write had begun before the selected time, and went on for so long in it. */
static const struct {
	double to_ms;
	bool is_read_later;
} cut_writes[] = {
	{ 0.02, false }, { 3, true }, /* it waits until there is room */
};

START_TEST(bytes_that_were_there_before_the_selected_time_are_gone)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t cut = sketch_io(&sketch, 0, "write", "tcp a>b", 100, 0, cut_writes[_i].to_ms);
	uint32_t write = sketch_io(&sketch, 0, "write", "tcp a>b", 20, 10, 10.01);
	if (cut_writes[_i].is_read_later)
		sketch_io(&sketch, 1, "read", "tcp b>a", 100, 1, 1.01);
	uint32_t read = sketch_io(&sketch, 1, "read", "tcp b>a", 20, 10.1, 10.11);
	sketch.rec.extras[cut].cut = true;
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	const struct transfer *transfers = flows.transfers;
	ck_assert_int_eq(flows.transfer_of[cut] != NO_INDEX, cut_writes[_i].is_read_later);
	ck_assert_uint_ne(flows.transfer_of[write], NO_INDEX);
	ck_assert_uint_eq(transfers[flows.transfer_of[read]].first_ns, 10 * SKETCH_MS);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_poll_takes_nothing);
	EACH(bytes_that_are_given_back_are_permits, pipes);
	TEST(a_permit_that_was_there_is_not_waited_for);
	TEST(ends_are_matched_and_offsets_count);
	TEST(bytes_from_nowhere_make_a_flow_unusable);
	TEST(only_the_last_bytes_may_come_from_nowhere);
	TEST(a_recording_may_begin_in_the_middle);
	TEST(a_waiting_write_shows_the_capacity);
	EACH(a_listener_has_room_or_refuses, listeners);
	EACH(bytes_that_were_there_before_the_selected_time_are_gone, cut_writes);
	EACH(unix_sockets_meet_by_inode, unix_ends);
	EACH(streams_read_and_write, streams);
	EACH(what_has_two_ends_is_in_two_flows, between);
}
