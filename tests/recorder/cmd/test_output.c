/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a file of dumps has a half one in it, or lacks a whole one. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "output.h"
#include "suite.h"

static char path[64];

static const char header[] = "{\"schema_version\":1,\"dropped_events\":2,\"event_count\":3}\n";

static struct output *open_new(const char *suffix)
{
	struct output *output;
	int error;

	snprintf(path, sizeof(path), "/tmp/wcprof-test-%d%s", (int)getpid(), suffix);
	output = output_open(path, &error);
	ck_assert_int_eq(error, 0);
	ck_assert_ptr_nonnull(output);
	return output;
}

/* All of the file, which is removed. */
static size_t take_file(char *to, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t bytes;

	ck_assert_ptr_nonnull(file);
	bytes = fread(to, 1, size - 1, file);
	to[bytes] = '\0';
	fclose(file);
	unlink(path);
	return bytes;
}

static void put(struct output *output, const char *text)
{
	ck_assert_int_eq(output_write(output, text, strlen(text)), 0);
}

static void keep(struct output *output)
{
	ck_assert_int_eq(output_write(output, NULL, 0), 0);
	output_keep(output);
}

START_TEST(what_was_committed_is_there_and_what_was_abandoned_is_not)
{
	struct output *output = open_new(".jsonl");
	char text[1024];

	output_begin(output);
	put(output, header);
	put(output, "one\n");
	keep(output);
	output_begin(output);
	put(output, header);
	put(output, "half");
	output_abandon(output);
	/* Ended, and not kept all the same. */
	output_begin(output);
	put(output, header);
	ck_assert_int_eq(output_write(output, NULL, 0), 0);
	output_abandon(output);
	output_begin(output);
	put(output, "{\"event_count\":4}\n");
	keep(output);
	ck_assert_uint_eq(output_events(output), 7);
	ck_assert_uint_eq(output_lost_events(output), 2);
	ck_assert_uint_eq(output_header_bytes(output), 17);
	ck_assert_int_eq(output_close(output), 0);
	take_file(text, sizeof(text));
	ck_assert_uint_eq(strlen(text), strlen(header) + 4 + 18);
	ck_assert_ptr_nonnull(strstr(text, "one\n{\"event_count\":4}\n"));
}
END_TEST

START_TEST(a_header_may_come_in_pieces)
{
	struct output *output = open_new(".jsonl");
	char text[1024];

	output_begin(output);
	for (size_t i = 0; i < sizeof(header) - 1; i++)
		ck_assert_int_eq(output_write(output, &header[i], 1), 0);
	put(output, "{\"event_count\":1000}\n");
	keep(output);
	ck_assert_uint_eq(output_events(output), 3);
	ck_assert_uint_eq(output_header_bytes(output), sizeof(header) - 2);
	output_close(output);
	take_file(text, sizeof(text));
}
END_TEST

START_TEST(each_dump_is_a_frame_of_its_own)
{
	struct output *output = open_new(".zst");
	char compressed[4096], text[4096];
	size_t bytes, frame, got;

	for (int i = 0; i < 3; i++) {
		output_begin(output);
		put(output, header);
		put(output, i == 1 ? "no\n" : "yes\n");
		if (i == 1)
			output_abandon(output);
		else
			keep(output);
	}
	ck_assert_int_eq(output_close(output), 0);
	bytes = take_file(compressed, sizeof(compressed));
	frame = ZSTD_findFrameCompressedSize(compressed, bytes);
	ck_assert_uint_lt(frame, bytes);
	got = ZSTD_decompress(text, sizeof(text), compressed, bytes);
	ck_assert(!ZSTD_isError(got));
	ck_assert_uint_eq(got, 2 * (sizeof(header) - 1 + 4));
	text[got] = '\0';
	ck_assert_ptr_null(strstr(text, "no"));
}
END_TEST

START_TEST(a_file_that_may_not_grow_keeps_whole_dumps)
{
	/* Row 0: as it is; row 1: compressed, where the bytes come late. */
	static const char *const suffixes[] = { ".jsonl", ".zst" };
	struct output *output = open_new(suffixes[_i]);
	struct rlimit limit = { 100000, 100000 };
	static char noise[300000];
	char text[1024];
	int result;

	signal(SIGXFSZ, SIG_IGN);
	srandom(1);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)random();
	output_begin(output);
	put(output, header);
	keep(output);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	output_begin(output);
	result = output_write(output, noise, sizeof(noise));
	if (result == 0)
		result = output_write(output, NULL, 0);
	ck_assert_int_eq(result, -EFBIG);
	output_abandon(output);
	ck_assert_int_eq(output_close(output), 0);
	result = (int)take_file(text, sizeof(text));
	ck_assert_int_lt(result, 100);
	ck_assert_int_gt(result, 20);
}
END_TEST

START_TEST(what_cannot_be_opened_is_an_error)
{
	int error = 0;

	ck_assert_ptr_null(output_open("/proc/none/such", &error));
	ck_assert_int_eq(error, -ENOENT);
	ck_assert_ptr_null(output_open("/tmp", &error));
	ck_assert_int_eq(error, -EISDIR);
}
END_TEST

SUITE()
{
	TEST(what_was_committed_is_there_and_what_was_abandoned_is_not);
	TEST(a_header_may_come_in_pieces);
	TEST(each_dump_is_a_frame_of_its_own);
	LOOP(a_file_that_may_not_grow_keeps_whole_dumps, 0, 2);
	TEST(what_cannot_be_opened_is_an_error);
}
