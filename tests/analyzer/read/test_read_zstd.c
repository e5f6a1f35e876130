/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a compressed dump is read as another one than it was, or a damaged one crashes. */
#include "dump_text.h"

#include <errno.h>
#include <zstd.h>

#include "read/read.h"
#include "read/read_zstd.h"
#include "suite.h"

enum { TEXT_BYTES = 300000, FRAMES = 3 };

struct input {
	const char *bytes;
	size_t left;
	size_t step;
	int error; /* at the end, instead of an end */
};

static ssize_t give(void *context, char *to, size_t room)
{
	struct input *input = context;
	size_t bytes = room < input->step ? room : input->step;

	if (input->left == 0 && input->error)
		return input->error;
	bytes = bytes < input->left ? bytes : input->left;
	memcpy(to, input->bytes, bytes);
	input->bytes += bytes;
	input->left -= bytes;
	return (ssize_t)bytes;
}

/* Lines of numbers in several frames; its length when compressed. */
static size_t compress_frames(char *text, char **compressed)
{
	size_t room = ZSTD_compressBound(TEXT_BYTES) * FRAMES, used = 0;

	*compressed = malloc(room);
	for (size_t i = 0; i < TEXT_BYTES; i++)
		text[i] = i % 60 == 59 ? '\n' : (char)('0' + i * i % 61 % 10);
	for (size_t i = 0; i < FRAMES; i++) {
		size_t got =
			ZSTD_compress(*compressed + used, room - used,
				      text + i * (TEXT_BYTES / FRAMES), TEXT_BYTES / FRAMES, 3);

		ck_assert(!ZSTD_isError(got));
		used += got;
	}
	return used;
}

/* All that comes out, up to `most`; the last result. */
static ssize_t read_all(struct input *input, size_t room, char *to, size_t most, size_t *used)
{
	struct read_zstd *zstd = read_zstd_start(give, input, "", 0);
	ssize_t got = 1;

	ck_assert_ptr_nonnull(zstd);
	for (*used = 0; got > 0 && *used<most; *used += got> 0 ? (size_t)got : 0)
		got = read_zstd_next(zstd, to + *used, room < most - *used ? room : most - *used);
	read_zstd_free(zstd);
	return got;
}

START_TEST(all_comes_back_in_whatever_pieces)
{
	static const struct {
		size_t step, room;
	} rows[] = {
		/* 0 */ { 1 << 20, 1 << 20 },
		/* 1 */ { 1, 1 << 20 },
		/* 2 */ { 1 << 20, 1 },
		/* 3 */ { 7, 13 },
	};
	char *text = malloc(TEXT_BYTES), *back = malloc(TEXT_BYTES + 100), *compressed;
	size_t bytes = compress_frames(text, &compressed), used;
	struct input input = { compressed, bytes, rows[_i].step, 0 };

	ck_assert_int_eq(read_all(&input, rows[_i].room, back, TEXT_BYTES + 100, &used), 0);
	ck_assert_uint_eq(used, TEXT_BYTES);
	ck_assert_int_eq(memcmp(text, back, TEXT_BYTES), 0);
	free(text);
	free(back);
	free(compressed);
}
END_TEST

START_TEST(a_file_that_ends_early_gives_what_it_has)
{
	char *text = malloc(TEXT_BYTES), *back = malloc(TEXT_BYTES), *compressed;
	size_t bytes = compress_frames(text, &compressed), used;
	struct input input = { compressed, bytes - 100, 1 << 20, 0 };

	ck_assert_int_eq(read_all(&input, 4096, back, TEXT_BYTES, &used), 0);
	ck_assert_uint_ge(used, TEXT_BYTES / FRAMES * (FRAMES - 1));
	ck_assert_uint_lt(used, TEXT_BYTES);
	ck_assert_int_eq(memcmp(text, back, used), 0);
	input = (struct input){ compressed, bytes - 100, 1 << 20, -EIO };
	ck_assert_int_eq(read_all(&input, 4096, back, TEXT_BYTES, &used), -EIO);
	free(text);
	free(back);
	free(compressed);
}
END_TEST

START_TEST(damage_is_an_error_or_a_wrong_text_and_no_crash)
{
	char *text = malloc(TEXT_BYTES), *back = malloc(4 * TEXT_BYTES), *compressed;
	size_t bytes = compress_frames(text, &compressed), used;

	srandom((unsigned)_i + 1);
	for (int i = 0; i < 20; i++) {
		struct input input = { compressed, bytes, 1000, 0 };
		ssize_t result;

		compressed[4 + (size_t)random() % (bytes - 4)] = (char)random();
		result = read_all(&input, 5000, back, 4 * TEXT_BYTES, &used);
		ck_assert(result >= 0 || result == -EBADMSG);
	}
	free(text);
	free(back);
	free(compressed);
}
END_TEST

START_TEST(a_compressed_dump_is_read_like_the_dump)
{
	static const char dump[] = "{\"schema_version\":1,\"strings\":[\"\"],\"event_count\":1}\n"
				   "{\"e\":\"op\",\"k\":\"io\",\"id\":1,\"s\":10,\"d\":20}\n";
	char compressed[1024];
	size_t bytes = ZSTD_compress(compressed, 512, dump, sizeof(dump) - 1, 3);
	struct recording recording;
	struct read_error error;

	/* Row 0: the file is a whole dump; row 1: it is followed by another. */
	if (_i == 1) {
		memcpy(compressed + bytes, compressed, bytes);
		bytes *= 2;
	}
	ck_assert_int_eq(recording_read_memory(&recording, "dump", compressed, bytes, 3, &error),
			 _i == 0 ? 0 : -EBADMSG);
	if (_i == 0)
		ck_assert_uint_eq(recording.op_count, 1);
	else
		ck_assert_ptr_nonnull(strstr(error.text, "1"));
	recording_free(&recording);
}
END_TEST

SUITE()
{
	LOOP(all_comes_back_in_whatever_pieces, 0, 4);
	TEST(a_file_that_ends_early_gives_what_it_has);
	LOOP(damage_is_an_error_or_a_wrong_text_and_no_crash, 0, 10);
	LOOP(a_compressed_dump_is_read_like_the_dump, 0, 2);
}
