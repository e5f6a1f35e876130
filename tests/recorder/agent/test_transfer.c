/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a secret is sent that is none. tests/agent/test_uploads has receivers that fail in
 * all ways. */
#include "transfer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

enum { SECRET_BYTES = 16 };

static const struct {
	const char *text, *secret; /* NULL: it is none */
} rows[] = {
	/* 0 */ { "abc", "abc" },
	/* 1 */ { "abc\n", "abc" },
	/* 2 */ { "abc\r\nmore\n", "abc" },
	/* 3 */ { "", NULL },
	/* 4 */ { "\nabc\n", NULL },
	/* 5 */ { "a bc\n", NULL },
	/* 6: a header of its own */
	{ "a\x0b"
	  "X: y\n",
	  NULL },
	/* 7 */ { "0123456789abcde", "0123456789abcde" },
	/* 8: too long */ { "0123456789abcdef", NULL },
};

START_TEST(a_secret_is_one_word)
{
	char path[] = "/tmp/wcprof-secret.XXXXXX", secret[SECRET_BYTES];
	int fd = mkstemp(path), result;

	ck_assert_int_eq(write(fd, rows[_i].text, strlen(rows[_i].text)),
			 (ssize_t)strlen(rows[_i].text));
	close(fd);
	result = transfer_read_secret(path, secret, sizeof(secret));
	ck_assert_int_eq(result, rows[_i].secret ? 0 : -EINVAL);
	ck_assert_str_eq(secret, rows[_i].secret ? rows[_i].secret : "");
	unlink(path);
	ck_assert_int_eq(transfer_read_secret(path, secret, sizeof(secret)), -ENOENT);
}
END_TEST

SUITE()
{
	EACH(a_secret_is_one_word, rows);
}
