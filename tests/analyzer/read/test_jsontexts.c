/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a package has another's version, or a broken package.json stops the command. */
#include "read/jsontexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static const char *const names[] = { "name", "version" };

static const struct {
	const char *bytes, *name, *version;
	bool is_good;
} rows[] = {
	/* 0 */ { "{\"name\":\"a\",\"version\":\"1.2\"}", "a", "1.2", true },
	/* 1 */ { "{\n \"x\": [1,\n{\"name\":\"b\"}], \"name\" : \"a\"\n}\n", "a", "", true },
	/* 2 */ { "{\"name\":{\"a\":1},\"version\":7}", "", "", true },
	/* 3: no plain text */ { "{\"name\":\"a\\u0041\",\"version\":\"1\"}", "", "1", true },
	/* 4 */ { "{\"version\":\"1\",\"name\":\"a", "", "1", false },
	/* 5 */ { "[1]", "", "", false },
	/* 6 */ { "", "", "", false },
	/* 7 */ { "{\"name\" \"a\"}", "", "", false },
};

START_TEST(texts_are_those_of_the_object)
{
	char texts[2][JSON_TEXTS_BYTES];
	bool is_good = json_texts(rows[_i].bytes, strlen(rows[_i].bytes), names, 2, texts);
	ck_assert_int_eq(is_good, rows[_i].is_good);
	ck_assert_str_eq(texts[0], rows[_i].name);
	ck_assert_str_eq(texts[1], rows[_i].version);
}
END_TEST

START_TEST(a_text_that_is_too_long_is_none)
{
	char bytes[300], texts[2][JSON_TEXTS_BYTES];
	snprintf(bytes, sizeof(bytes), "{\"name\":\"%0200d\",\"version\":\"1\"}", 7);
	ck_assert(json_texts(bytes, strlen(bytes), names, 2, texts));
	ck_assert_str_eq(texts[0], "");
	ck_assert_str_eq(texts[1], "1");
}
END_TEST

START_TEST(files_are_read)
{
	char path[] = "/tmp/test_jsontexts.XXXXXX", texts[2][JSON_TEXTS_BYTES];
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, rows[0].bytes, strlen(rows[0].bytes)),
			 (ssize_t)strlen(rows[0].bytes));
	ck_assert(json_texts_of_file(path, names, 2, texts));
	ck_assert_str_eq(texts[1], "1.2");
	ck_assert_int_eq(ftruncate(fd, JSON_TEXTS_FILE_BYTES_MAX), 0);
	ck_assert(!json_texts_of_file(path, names, 2, texts));
	unlink(path);
	ck_assert(!json_texts_of_file(path, names, 2, texts));
	close(fd);
}
END_TEST

SUITE()
{
	EACH(texts_are_those_of_the_object, rows);
	TEST(a_text_that_is_too_long_is_none);
	TEST(files_are_read);
}
