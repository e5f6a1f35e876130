/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump is changed by copying it, or names get into the middle of a line. */
#include "read/read_copy.h"

#include "sample.h"
#include "suite.h"

static char mark[] = "MARK\n";

static void put_mark(void *context, FILE *to)
{
	fputs(context, to);
}

static const struct {
	const char *text;
	bool is_last;
	bool has_mark;
	const char *copied;
} rows[] = {
	/* 0 */ { "{h}\n{a}\n{b}\n", true, true, "{h}\nMARK\n{a}\n{b}\n" },
	/* 1 */ { "{h}\n{a}\n{b}\n", false, false, "{h}\n{a}\n{b}\n" },
	/* 2 */ { "{h}\n{a}\n{b", true, true, "{h}\nMARK\n{a}\n{b" }, /* cut off, and stays so */
	/* 3 */ { "{h}\n{a}\n{b", false, true, "{h}\nMARK\n{a}\n" },
	/* 4 */ { "{h}\n{a}", false, true, "{h}\nMARK\n{a}\n" },
	/* 5 */ { "{h}", true, true, "{h}\nMARK\n" },
	/* 6 */ { "", true, false, "" },
};

static void expect_copy(const char *name, size_t row)
{
	struct read_error error;
	char *copied;
	size_t count;
	FILE *to = open_memstream(&copied, &count);

	ck_assert_int_eq(read_copy(to, sample_path(name), rows[row].is_last,
				   rows[row].has_mark ? put_mark : NULL, mark, &error),
			 0);
	fclose(to);
	ck_assert_str_eq(copied, rows[row].copied);
	free(copied);
}

START_TEST(small_dumps)
{
	sample_write("dump", rows[_i].text, strlen(rows[_i].text));
	expect_copy("dump", (size_t)_i);
	sample_run("cd '%s' && zstd -q -f dump -o dump.zst", sample_directory);
	expect_copy("dump.zst", (size_t)_i);
}
END_TEST

/* Lines that no block ends with, and one longer than a block. */
START_TEST(large_dumps)
{
	struct read_error error;
	FILE *to;

	sample_run("cd '%s' && { head -c 700000 /dev/zero | tr '\\0' x; echo; seq 1 200000; } >big",
		   sample_directory);
	to = fopen(sample_path("copy"), "w");
	ck_assert_int_eq(read_copy(to, sample_path("big"), true, put_mark, mark, &error), 0);
	fclose(to);
	sample_run("cd '%s' && sed -n 2p copy | grep -qx MARK && sed 2d copy | cmp - big",
		   sample_directory);
}
END_TEST

START_TEST(what_cannot_be_read_is_named)
{
	struct read_error error;

	ck_assert_int_lt(read_copy(stdout, sample_path("absent"), true, NULL, NULL, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.file, "absent"));
	ck_assert_ptr_nonnull(strstr(error.text, "No such file"));
	sample_run("cd '%s' && mkdir -p directory", sample_directory);
	ck_assert_int_lt(read_copy(stdout, sample_path("directory"), true, NULL, NULL, &error), 0);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(sample_begin, sample_end);
	EACH(small_dumps, rows);
	TEST(large_dumps);
	TEST(what_cannot_be_read_is_named);
}
