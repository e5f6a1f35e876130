/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if this fails: bytes through a pipe, socket or stream are lost, or counted twice. */
#include "target.h"
#include "suite.h"

/* Whether an event's call does this to its descriptor, or to the other one. */
static bool does(const char *call, bool is_read, bool is_other)
{
	static const struct {
		const char *call;
		const char *own, *other;
	} rows[] = {
		/* Each before what its name holds. */
		{ "vmsplice", "write", "" },     { "splice", "read", "write" },
		{ "sendfile", "write", "read" }, { "tee", "", "write" },
		{ "read", "read", "" },          { "recv", "read", "" },
		{ "write", "write", "" },        { "send", "write", "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(call, rows[i].call))
			return strcmp(is_other ? rows[i].other : rows[i].own,
				      is_read ? "read" : "write") == 0;
	return false;
}

/* The bytes that calls of all processes moved in what is called so, in one direction. */
static json_int_t moved(struct dumps *dumps, const char *ident, bool is_read)
{
	json_int_t sum = 0;
	for (int dump = 0; dump < dumps->count; dump++)
		for (size_t i = 1; i < json_array_size(dumps->lines[dump]); i++) {
			json_t *header = json_array_get(dumps->lines[dump], 0);
			json_t *event = json_array_get(dumps->lines[dump], i);
			const char *call = text_of(header, event, "c");
			if (strcmp(word_of(event, "k"), "io") != 0)
				continue;
			if (strcmp(text_of(header, event, "i"), ident) == 0 &&
			    does(call, is_read, false))
				sum += number_of(event, "n");
			if (strcmp(text_of(header, event, "i2"), ident) == 0 &&
			    does(call, is_read, true))
				sum += number_of(event, "n");
		}
	return sum;
}

/* Bytes that are written there are read here: the other end of a socket pair; a pipe itself. */
static void other_end(const char *ident, char *other)
{
	long long here, there;

	if (sscanf(ident, "unix:[%lld]>[%lld]", &here, &there) == 2)
		snprintf(other, OUTPUT_MAX, "unix:[%lld]>[%lld]", there, here);
	else
		snprintf(other, OUTPUT_MAX, "%s", ident);
}

/* In every pipe and pair of sockets, what was written was read. The number of bytes in all. */
static json_int_t check_sums(struct dumps *dumps)
{
	json_t *strings = json_object_get(json_array_get(dumps->lines[0], 0), "strings");
	json_int_t sum = 0;
	char other[OUTPUT_MAX];

	for (size_t i = 0; i < json_array_size(strings); i++) {
		const char *ident = json_string_value(json_array_get(strings, i));
		if (strncmp(ident, "pipe:[", 6) != 0 && strncmp(ident, "unix:[", 6) != 0)
			continue;
		other_end(ident, other);
		ck_assert_msg(moved(dumps, ident, true) == moved(dumps, other, false),
			      "%lld read from %s, %lld written to %s",
			      (long long)moved(dumps, ident, true), ident,
			      (long long)moved(dumps, other, false), other);
		sum += moved(dumps, ident, true);
	}
	return sum;
}

/* The object that the calls by that name in a process are on; "" = there is none. */
static const char *ident_of(struct dumps *dumps, int dump, const char *call)
{
	json_t *header = json_array_get(dumps->lines[dump], 0);
	for (size_t i = 1; i < json_array_size(dumps->lines[dump]); i++) {
		json_t *event = json_array_get(dumps->lines[dump], i);
		if (strcmp(text_of(header, event, "c"), call) == 0 && number_of(event, "n") > 0 &&
		    strncmp(text_of(header, event, "i"), "file ", 5) != 0)
			return text_of(header, event, "i");
	}
	return "";
}

static bool are_peers(struct dumps *dumps, json_int_t one, json_int_t other)
{
	for (int dump = 0; dump < dumps->count; dump++) {
		json_t *peers = json_object_get(json_array_get(dumps->lines[dump], 0), "peers");
		for (size_t i = 0; i + 1 < json_array_size(peers); i += 2) {
			json_int_t left = json_integer_value(json_array_get(peers, i));
			json_int_t right = json_integer_value(json_array_get(peers, i + 1));
			if ((left == one && right == other) || (left == other && right == one))
				return true;
		}
	}
	return false;
}

/* A socket may have been closed before its peer was asked for; then that is counted. */
static bool are_unknown_peers_counted(struct dumps *dumps)
{
	json_int_t count = 0;
	for (int dump = 0; dump < dumps->count; dump++) {
		json_t *counters =
			json_object_get(json_array_get(dumps->lines[dump], 0), "counters");
		count += json_integer_value(json_object_get(counters, "unknown_peers"));
	}
	return count > 0;
}

static const char *const meetings[] = { "path", "pair" };

/* Each of two processes has one end: that they belong together shows, and the bytes add up. */
START_TEST(test_two_processes_meet)
{
	const struct target_case row = { "meetings",
					 meetings[_i],
					 { { "op", "io", "recv", 2, 2 } } };
	struct dumps dumps;
	char one[OUTPUT_MAX], other[OUTPUT_MAX];

	run_case(&row, &dumps);
	ck_assert_int_eq(dumps.count, 2);
	snprintf(one, sizeof(one), "%s", ident_of(&dumps, 0, "recv"));
	snprintf(other, sizeof(other), "%s", ident_of(&dumps, 1, "recv"));
	ck_assert_int_eq(strncmp(one, "unix", 4), 0);
	if (_i == 0) {
		ck_assert(strchr(one, '#') && strchr(other, '#'));
		ck_assert_msg(are_peers(&dumps, atoll(strchr(one, '#') + 1),
					atoll(strchr(other, '#') + 1)) ||
				      are_unknown_peers_counted(&dumps),
			      "%s and %s are not peers", one, other);
	} else {
		long long left[2], right[2];
		ck_assert_int_eq(sscanf(one, "unix:[%lld]>[%lld]", &left[0], &left[1]), 2);
		ck_assert_int_eq(sscanf(other, "unix:[%lld]>[%lld]", &right[0], &right[1]), 2);
		ck_assert(left[0] == right[1] && left[1] == right[0]);
	}
	ck_assert_int_eq(moved(&dumps, one, true), moved(&dumps, other, false));
	ck_assert_int_eq(moved(&dumps, other, true), moved(&dumps, one, false));
	ck_assert_int_eq(moved(&dumps, one, true) + moved(&dumps, other, true), 5);
	free_dumps(&dumps);
}
END_TEST

/* Both processes write to the one pipe, and all that is read from it was written. */
START_TEST(test_a_shared_end_adds_up)
{
	static const struct target_case row = { "meetings",
						"shared",
						{ { "op", "io", "readv", 1, 1 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_eq(dumps.count, 2);
	const char *ident = ident_of(&dumps, 0, "readv");
	if (!ident[0])
		ident = ident_of(&dumps, 1, "readv");
	ck_assert_int_eq(strncmp(ident, "pipe:[", 6), 0);
	ck_assert_int_eq(moved(&dumps, ident, false), 7);
	ck_assert_int_eq(moved(&dumps, ident, true), 7);
	free_dumps(&dumps);
}
END_TEST

/* Parts are added up, what moved nothing counts nothing. */
START_TEST(test_parts_add_up)
{
	static const struct target_case row = { "meetings",
						"parts",
						{ { "op", "io", "recvmmsg", 1, 1 },
						  { "op", "io", "sendmmsg", 1, 1 } } };
	struct dumps dumps;
	char one[OUTPUT_MAX], other[OUTPUT_MAX];

	run_case(&row, &dumps);
	snprintf(one, sizeof(one), "%s", ident_of(&dumps, 0, "sendmmsg"));
	snprintf(other, sizeof(other), "%s", ident_of(&dumps, 0, "recvmmsg"));
	ck_assert_int_eq(moved(&dumps, one, false), 10);
	ck_assert_int_eq(moved(&dumps, other, true), 10);
	ck_assert_int_eq(moved(&dumps, one, true) + moved(&dumps, other, false), 0);
	check_sums(&dumps);
	free_dumps(&dumps);
}
END_TEST

/* Of a pipe that two processes read from, each says what it took. */
START_TEST(test_shared_readers_add_up)
{
	static const struct target_case row = { "meetings",
						"readers",
						{ { "op", "io", "read", 2, 4 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_eq(dumps.count, 2);
	const char *one = ident_of(&dumps, 0, "read"), *other = ident_of(&dumps, 1, "read");
	ck_assert_str_eq(one, other);
	ck_assert_int_eq(moved(&dumps, one, true), 9);
	ck_assert_int_eq(moved(&dumps, one, false), 9);
	free_dumps(&dumps);
}
END_TEST

/* A call that moved a part of what it was to move counts that part, at both of its ends. */
START_TEST(test_partial_transfers_add_up)
{
	static const struct target_case row = { "meetings",
						"tight",
						{ { "op", "io", "splice", 4, 4 },
						  { "op", "io", "tee", 2, 2 },
						  { "op", "io", "sendmmsg", 1, 1 },
						  { "op", "io", "sendfile", 1, 1 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_gt(check_sums(&dumps), 10000);
	free_dumps(&dumps);
}
END_TEST

/* Bytes that are only looked at, by whatever call, are still there to be read. */
START_TEST(test_looks_move_nothing)
{
	static const struct target_case row = { "meetings",
						"looks",
						{ { "op", "io", "recvfrom", 3, 3 },
						  { "op", "io", "recvmsg", 3, 3 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_eq(check_sums(&dumps), 8);
	json_t *header = json_array_get(dumps.lines[0], 0);
	for (size_t i = 1; i < json_array_size(dumps.lines[0]); i++) {
		json_t *event = json_array_get(dumps.lines[0], i);
		if (strcmp(text_of(header, event, "c"), "recvmsg") == 0)
			ck_assert_int_eq(number_of(event, "n"), 0);
	}
	free_dumps(&dumps);
}
END_TEST

/* Copies are their originals. */
START_TEST(test_copies_add_up)
{
	static const struct target_case row = { "meetings",
						"copies",
						{ { "op", "io", "write", 8, 8 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_eq(check_sums(&dumps), 30);
	free_dumps(&dumps);
}
END_TEST

static bool is_unix(const char *ident)
{
	return strncmp(ident, "unix:[", 6) == 0;
}

/* A process that got its descriptors in a message says what they are, as who sent them does. */
START_TEST(test_passed_descriptors_add_up)
{
	static const struct target_case row = { "meetings",
						"passed",
						{ { "op", "io", "sendmsg", 1, 1 },
						  { "op", "io", "writev", 1, 1 },
						  { "op", "io", "readv", 1, 1 } } };
	struct dumps dumps;

	run_case(&row, &dumps);
	ck_assert_int_eq(dumps.count, 2);
	int child = ident_of(&dumps, 0, "writev")[0] ? 0 : 1;
	const char *pipe = ident_of(&dumps, child, "read");
	const char *sent = ident_of(&dumps, child, "writev");
	const char *got = ident_of(&dumps, !child, "readv");
	ck_assert_int_eq(strncmp(pipe, "pipe:[", 6), 0);
	ck_assert_int_eq(moved(&dumps, pipe, true), 4);
	ck_assert_int_eq(moved(&dumps, pipe, false), 4);
	ck_assert(is_unix(sent) && is_unix(got));
	long long here = 0, there = 0;
	ck_assert_int_eq(sscanf(got, "unix:[%lld]>[%lld]", &here, &there), 2);
	ck_assert_int_eq(atoll(sent + strlen("unix:[")), there);
	ck_assert(strstr(sent, ">[") || are_peers(&dumps, here, there));
	ck_assert_int_eq(moved(&dumps, sent, false), 3);
	ck_assert_int_eq(moved(&dumps, got, true), 3);
	free_dumps(&dumps);
}
END_TEST

/* Calls by syscall() are on what the same calls of libc's are on, and move as much. */
START_TEST(test_raw_calls_add_up)
{
	static const struct target_case row = { "meetings",
						"raw",
						{ { "op", "io", "connect", 2, 2 },
						  { "op", "io", "accept", 2, 2 },
						  { "op", "io", "sendmmsg", 1, 1 },
						  { "op", "io", "recvmmsg", 3, 3 },
						  { "op", "io", "vmsplice", 1, 1 },
						  { "op", "io", "tee", 2, 2 },
						  { "op", "io", "sendfile", 1, 1 },
						  { "op", "io", "copy_file_range", 1, 1 } } };
	struct dumps dumps;
	char left[64], right[64], other[OUTPUT_MAX];

	run_case(&row, &dumps);
	ck_assert_int_eq(check_sums(&dumps), 12);
	const char *client = ident_of(&dumps, 0, "sendmmsg");
	const char *server = ident_of(&dumps, 0, "recvmmsg");
	ck_assert_int_eq(sscanf(client, "tcp %63[^>]>%63s", left, right), 2);
	snprintf(other, sizeof(other), "tcp %s>%s", right, left);
	ck_assert_str_eq(server, other);
	ck_assert_int_eq(moved(&dumps, client, false), 8);
	ck_assert_int_eq(moved(&dumps, server, true), 8);
	free_dumps(&dumps);
}
END_TEST

/* The bytes that went through what is called so when a stream was flushed. */
static json_int_t flushed(struct dumps *dumps, const char *ident)
{
	json_int_t sum = 0;
	for (int dump = 0; dump < dumps->count; dump++)
		for (size_t i = 1; i < json_array_size(dumps->lines[dump]); i++) {
			json_t *header = json_array_get(dumps->lines[dump], 0);
			json_t *event = json_array_get(dumps->lines[dump], i);
			if (strcmp(text_of(header, event, "c"), "fflush") == 0 &&
			    strcmp(text_of(header, event, "i"), ident) == 0)
				sum += number_of(event, "n");
		}
	return sum;
}

/* A stream's buffer is written by whatever empties it, and is seen to be. */
START_TEST(test_buffers_add_up)
{
	static const struct target_case row = { "meetings",
						"buffers",
						{ { "op", "io", "fflush", 6, 6 } } };
	static const json_int_t expected[] = { 5 + 3 + 8, 9 };
	struct dumps dumps;
	bool found[2] = { false, false };

	run_case(&row, &dumps);
	for (int i = 0; i < dumps.count; i++) {
		const char *ident = ident_of(&dumps, i, "read");
		if (strncmp(ident, "pipe:[", 6) != 0)
			continue;
		json_int_t bytes = moved(&dumps, ident, true);
		ck_assert_int_eq(flushed(&dumps, ident), bytes);
		for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++)
			found[k] |= bytes == expected[k];
	}
	ck_assert(found[0] && found[1]);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	LOOP(test_two_processes_meet, 0, 2);
	TEST(test_a_shared_end_adds_up);
	TEST(test_parts_add_up);
	TEST(test_shared_readers_add_up);
	TEST(test_partial_transfers_add_up);
	TEST(test_looks_move_nothing);
	TEST(test_copies_add_up);
	TEST(test_passed_descriptors_add_up);
	TEST(test_raw_calls_add_up);
	TEST(test_buffers_add_up);
}
