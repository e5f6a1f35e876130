/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, requests have other bytes than they were given. */
#include "body.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static const struct {
	const char *bytes, *base64;
} rows[] = {
	/* 0 */ { "", "" },
	/* 1 */ { "f", "Zg==" },
	/* 2 */ { "fo", "Zm8=" },
	/* 3 */ { "foo", "Zm9v" },
	/* 4 */ { "foobar", "Zm9vYmFy" },
	/* 5 */ { "\xff\xfe\xfd\xfc", "//79/A==" },
};

START_TEST(base64_is_that_of_the_standard)
{
	struct body body = { 0 };

	body_put_base64(&body, rows[_i].bytes, strlen(rows[_i].bytes));
	body_put(&body, "", 1);
	ck_assert_str_eq(body.bytes, rows[_i].base64);
	body_free(&body);
}
END_TEST

START_TEST(parts_follow_each_other)
{
	struct body body = { 0 };

	for (int i = 0; i < 1000; i++)
		body_printf(&body, "%04d", i);
	body_put_json(&body, "a\"b\n");
	ck_assert_uint_eq(body.used, 4000 + 12);
	ck_assert_mem_eq(body.bytes + 4 * 123, "0123", 4);
	ck_assert_mem_eq(body.bytes + 4000, "\"a\\\"b\\u000a\"", 12);
	ck_assert(!body.has_failed);
	body_free(&body);
	ck_assert_ptr_null(body.bytes);
}
END_TEST

START_TEST(a_file_is_read_whole_or_not)
{
	char path[] = "/tmp/wcprof-body.XXXXXX";
	int fd = mkstemp(path);
	struct body body = { 0 };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "12345", 5), 5);
	close(fd);
	ck_assert_int_eq(body_put_file(&body, path, 5), 0);
	ck_assert_uint_eq(body.used, 5);
	ck_assert_mem_eq(body.bytes, "12345", 5);
	ck_assert_int_eq(body_put_file(&body, path, 4), -EFBIG);
	unlink(path);
	ck_assert_int_eq(body_put_file(&body, path, 5), -ENOENT);
	body_free(&body);
}
END_TEST

SUITE()
{
	EACH(base64_is_that_of_the_standard, rows);
	TEST(parts_follow_each_other);
	TEST(a_file_is_read_whole_or_not);
}
