/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the two ends of a connection call each other differently. */
#include "endpoint.h"

#include <arpa/inet.h>

#include "recording.h"
#include "suite.h"

static char bytes[300];
static struct text text;

static void setup(void)
{
	text = (struct text){ .bytes = bytes, .size = sizeof(bytes) };
}

static const struct {
	const char *address;
	const char *text;
} addresses[] = {
	/* 0 */ { "::1", "[::1]" },
	/* 1 */ { "::", "[::]" },
	/* 2 */ { "::ffff:10.0.0.1", "10.0.0.1" },
	/* 3 */ { "fe80::1:0:0:2", "[fe80::1:0:0:2]" },
	/* 4 */ { "2001:db8:0:1:2:3:4:5", "[2001:db8:0:1:2:3:4:5]" },
	/* 5 */ { "2001:0:0:1:0:0:0:5", "[2001:0:0:1::5]" },
	/* 6 */ { "1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]" },
	/* 7 */ { "1:2:3:4:5:6::", "[1:2:3:4:5:6::]" },
	/* 8 */ { "abcd:ef01::", "[abcd:ef01::]" },
	/* 9 */ { "127.0.0.1", "127.0.0.1" },
	/* 10 */ { "255.255.255.255", "255.255.255.255" },
};

START_TEST(an_address_is_written_as_usual)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(65535) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(65535) };
	bool is_v6 = strchr(addresses[_i].address, ':') != NULL;
	struct endpoint end;
	char wanted[200];

	ck_assert_int_eq(inet_pton(is_v6 ? AF_INET6 : AF_INET, addresses[_i].address,
				   is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr),
			 1);
	endpoint_set(&end, is_v6 ? (void *)&v6 : (void *)&v4, is_v6 ? sizeof(v6) : sizeof(v4));
	ck_assert(endpoint_is_inet(&end));
	ck_assert_uint_eq(endpoint_port(&end), 65535);
	ck_assert_uint_eq(endpoint_path_bytes(&end), 0);
	endpoint_put_inet(&text, &end);
	ck_assert(text_end(&text));
	snprintf(wanted, sizeof(wanted), "%s:65535", addresses[_i].text);
	ck_assert_str_eq(bytes, wanted);
}
END_TEST

static const struct {
	const char *path;
	size_t path_bytes;
	const char *text;
} paths[] = {
	/* 0 */ { "/run/x", 6, "/run/x" },
	/* 1 */ { "/run/x\0/more", 12, "/run/x" },
	/* 2 */ { "\0abc", 4, "@abc" },
	/* 3 */ { "\0", 1, "@" },
	/* 4 */ { "x", 0, "" },
};

START_TEST(a_path_is_written_to_its_end)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct endpoint end;

	memcpy(address.sun_path, paths[_i].path, paths[_i].path_bytes);
	endpoint_set(&end, &address, offsetof(struct sockaddr_un, sun_path) + paths[_i].path_bytes);
	if (endpoint_path_bytes(&end) > 0)
		endpoint_put_path(&text, &end);
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, paths[_i].text);
	ck_assert(!endpoint_is_inet(&end));
}
END_TEST

/* 108 bytes and no NUL, and more than there is room for. */
START_TEST(an_address_without_an_end_is_cut)
{
	char address[200];
	struct endpoint end;

	memset(address, 'x', sizeof(address));
	memcpy(address, &(sa_family_t){ AF_UNIX }, sizeof(sa_family_t));
	endpoint_set(&end, address, sizeof(address));
	ck_assert_uint_le(end.bytes, sizeof(end.address));
	ck_assert_uint_le(endpoint_path_bytes(&end), sizeof(end.address));
	endpoint_put_path(&text, &end);
	ck_assert(text_end(&text));
	ck_assert_uint_ge(strlen(bytes), 108);
}
END_TEST

START_TEST(where_there_is_none_there_is_a_star)
{
	struct endpoint end;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	endpoint_set(&end, NULL, 0);
	ck_assert_uint_eq(end.bytes, 0);
	endpoint_set(&end, "x", 1);
	ck_assert_uint_eq(end.bytes, 0);
	ck_assert_int_eq(endpoint_get_peer(&end, fd), -ENOTCONN);
	ck_assert_uint_eq(end.bytes, 0);
	ck_assert(!endpoint_is_inet(&end));
	endpoint_put_inet(&text, &end);
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, "*");
	ck_assert_int_eq(endpoint_get_local(&end, fd), 0);
	ck_assert(endpoint_is_inet(&end));
	ck_assert_int_eq(endpoint_get_local(&end, 9999), -EBADF);
	close(fd);
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	EACH(an_address_is_written_as_usual, addresses);
	EACH(a_path_is_written_to_its_end, paths);
	TEST(an_address_without_an_end_is_cut);
	TEST(where_there_is_none_there_is_a_star);
}
