/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a datagram is said to have gone to another address than it has. */
#include "destinations.h"

#include "recording.h"
#include "strings.h"
#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static const char *text_of(uint32_t id)
{
	uint32_t bytes;

	return strings_get(recorder_arena, id, &bytes);
}

static struct sockaddr_in v4(const char *host, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, host, &address.sin_addr), 1);
	return address;
}

START_TEST(an_address_is_written_as_its_receiver_is)
{
	struct sockaddr_in to = v4("10.1.2.3", 53);
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
	struct sockaddr_un path = { AF_UNIX, "/run/s" };
	struct sockaddr_un abstract = { AF_UNIX, "\0s" };

	ck_assert_str_eq(text_of(destinations_name(&to, sizeof(to))), "10.1.2.3:53");
	v6.sin6_addr = in6addr_loopback;
	ck_assert_str_eq(text_of(destinations_name(&v6, sizeof(v6))), "[::1]:53");
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:10.1.2.3", &v6.sin6_addr), 1);
	ck_assert_uint_eq(destinations_name(&v6, sizeof(v6)), destinations_name(&to, sizeof(to)));
	ck_assert_str_eq(text_of(destinations_name(&path, sizeof(path))), "/run/s");
	ck_assert_str_eq(
		text_of(destinations_name(&abstract, offsetof(struct sockaddr_un, sun_path) + 2)),
		"@s");
}
END_TEST

START_TEST(what_is_no_address_has_no_name)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	char large[sizeof(struct sockaddr_storage) + 1] = { 0 };

	ck_assert_uint_eq(destinations_name(&none, sizeof(none)), 0);
	ck_assert_uint_eq(destinations_name(&none, 1), 0);
	ck_assert_uint_eq(destinations_name(large, sizeof(large)), 0);
}
END_TEST

/* More than the table has room for. */
START_TEST(many_addresses_have_a_name_each)
{
	enum { ADDRESSES = 5000 };
	char wanted[40];

	for (int round = 0; round < 2; round++)
		for (int i = 1; i <= ADDRESSES; i++) {
			struct sockaddr_in to = v4("127.0.0.1", (uint16_t)i);

			snprintf(wanted, sizeof(wanted), "127.0.0.1:%d", i);
			ck_assert_str_eq(text_of(destinations_name(&to, sizeof(to))), wanted);
		}
}
END_TEST

START_TEST(another_recording_has_other_names)
{
	struct sockaddr_in to = v4("10.1.2.3", 53);

	ck_assert_uint_ne(destinations_name(&to, sizeof(to)), 0);
	destinations_forget();
	store_relaxed(&recorder_arena->string_count, STRINGS_MAX);
	ck_assert_uint_eq(destinations_name(&to, sizeof(to)), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(an_address_is_written_as_its_receiver_is);
	TEST(what_is_no_address_has_no_name);
	TEST(many_addresses_have_a_name_each);
	TEST(another_recording_has_other_names);
}
