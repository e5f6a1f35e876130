/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, what a process publishes of itself is not read, or the agent reads beyond it. */
#include "published.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "suite.h"

static char seen[1000];

static void see(void *context, const char *key, const char *value)
{
	ck_assert_ptr_null(context);
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s=%s;", key, value);
}

/* Two attributes, of which one has a number; then one that is no resource's. */
static const char whole[] = "\x0a\x1a"
			    "\x0a\x0b\x0a\x04"
			    "name"
			    "\x12\x03\x0a\x01x"
			    "\x0a\x0b\x0a\x05"
			    "count"
			    "\x12\x02\x18\x05";

/* key and value of an attribute, in a resource, by hand. */
static size_t put(char *to, const char *key, const char *value)
{
	size_t key_bytes = strlen(key), value_bytes = strlen(value), used = 0;

	to[used++] = 0x0a;
	to[used++] = (char)(key_bytes + value_bytes + 8);
	to[used++] = 0x0a;
	to[used++] = (char)(key_bytes + value_bytes + 6);
	to[used++] = 0x0a;
	to[used++] = (char)key_bytes;
	memcpy(to + used, key, key_bytes);
	used += key_bytes;
	to[used++] = 0x12;
	to[used++] = (char)(value_bytes + 2);
	to[used++] = 0x0a;
	to[used++] = (char)value_bytes;
	memcpy(to + used, value, value_bytes);
	return used + value_bytes;
}

START_TEST(texts_are_seen_and_others_are_not)
{
	ck_assert(published_parse((const unsigned char *)whole, sizeof(whole) - 1, see, NULL));
	ck_assert_str_eq(seen, "name=x;");
}
END_TEST

START_TEST(cut_off_anywhere_it_ends)
{
	char bytes[100];
	size_t count = put(bytes, "service.name", "shop");

	for (size_t i = 0; i < count; i++) {
		/* Of its own size, so that a sanitizer sees the end. */
		unsigned char *copy = malloc(i ? i : 1);

		memcpy(copy, bytes, i);
		ck_assert_int_eq(published_parse(copy, i, see, NULL), i == 0);
		free(copy);
	}
	ck_assert_str_eq(seen, "");
	ck_assert(published_parse((unsigned char *)bytes, count, see, NULL));
	ck_assert_str_eq(seen, "service.name=shop;");
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
} bad[] = {
	/* 0: a length of 2^63 */ { "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },
	/* 1: a number without an end */ { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12 },
	/* 2: a group */ { "\x0b\x0c", 2 },
	/* 3 */ { "\x09\x01", 2 },
};

START_TEST(what_is_none_is_refused)
{
	ck_assert(!published_parse((const unsigned char *)bad[_i].bytes, bad[_i].count, see, NULL));
}
END_TEST

/* As publishers do it. */
static char *publish(char *payload, size_t bytes, unsigned version)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	uint64_t time_ns = 1, address = (uintptr_t)payload;
	uint32_t words[2] = { version, (uint32_t)bytes };
	char *header;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(header, MAP_FAILED);
	close(fd);
	memcpy(header, "OTEL_CTX", 8);
	memcpy(header + 8, words, 8);
	memcpy(header + 16, &time_ns, 8);
	memcpy(header + 24, &address, 8);
	return header;
}

START_TEST(a_process_is_read)
{
	static char payload[100];
	size_t bytes = put(payload, "service.name", "shop");

	ck_assert(!published_read(getpid(), see, NULL));
	publish(payload, bytes, 2);
	ck_assert(published_read(getpid(), see, NULL));
	ck_assert_str_eq(seen, "service.name=shop;");
}
END_TEST

START_TEST(one_that_is_being_changed_is_not)
{
	static char payload[100];
	char *header = publish(payload, put(payload, "service.name", "shop"), 2);

	memset(header + 16, 0, 8);
	ck_assert(!published_read(getpid(), see, NULL));
	ck_assert_str_eq(seen, "");
}
END_TEST

START_TEST(another_version_is_not)
{
	static char payload[100];

	publish(payload, put(payload, "service.name", "shop"), 1);
	ck_assert(!published_read(getpid(), see, NULL));
}
END_TEST

START_TEST(a_payload_that_is_nowhere_is_not)
{
	publish((char *)64, 100, 2);
	ck_assert(!published_read(getpid(), see, NULL));
}
END_TEST

START_TEST(a_payload_without_a_bound_is_not)
{
	static char payload[100];

	publish(payload, UINT32_MAX, 2);
	ck_assert(!published_read(getpid(), see, NULL));
}
END_TEST

SUITE()
{
	TEST(texts_are_seen_and_others_are_not);
	TEST(cut_off_anywhere_it_ends);
	EACH(what_is_none_is_refused, bad);
	TEST(a_process_is_read);
	TEST(one_that_is_being_changed_is_not);
	TEST(another_version_is_not);
	TEST(a_payload_that_is_nowhere_is_not);
	TEST(a_payload_without_a_bound_is_not);
}
