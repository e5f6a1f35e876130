/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a program's own bytes make the recorder read behind them, or name no service. */
#include "resource.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

/* service.name=shop, service.version=1.2, o=x, service.instance.id=i,
 * deployment.environment.name=prod */
#define ATTRIBUTES                                             \
	"\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"     \
	"\x0a\x18\x0a\x0fservice.version\x12\x05\x0a\x03"      \
	"1.2"                                                  \
	"\x0a\x08\x0a\x01o\x12\x03\x0a\x01x"                   \
	"\x0a\x1a\x0a\x13service.instance.id\x12\x03\x0a\x01i" \
	"\x0a\x25\x0a\x1b"                                     \
	"deployment.environment.name\x12\x06\x0a\x04prod"

enum { ATTRIBUTE_BYTES = sizeof(ATTRIBUTES) - 1 };

/* The message: a resource of them, between fields of other types. */
static size_t make(uint8_t *message)
{
	static const uint8_t begin[] = {
		0x10, 0x80, 0x01, 0x19,           1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2,
		3,    4,    0x0a, ATTRIBUTE_BYTES
	};
	static const uint8_t end[] = { 0x12, 3, 'a', 'b', 'c' };
	size_t length = 0;

	_Static_assert(ATTRIBUTE_BYTES < 128, "its length has one byte");
	memcpy(message, begin, sizeof(begin));
	length += sizeof(begin);
	memcpy(message + length, ATTRIBUTES, ATTRIBUTE_BYTES);
	length += ATTRIBUTE_BYTES;
	memcpy(message + length, end, sizeof(end));
	return length + sizeof(end);
}

START_TEST(a_service_has_its_texts)
{
	struct deployment deployment = { .version = "old" };
	uint8_t message[512];

	ck_assert(resource_read(&deployment, message, make(message)));
	ck_assert_str_eq(deployment.name, "shop");
	ck_assert_str_eq(deployment.version, "1.2");
	ck_assert_str_eq(deployment.environment, "prod");
	ck_assert_str_eq(deployment.instance, "i");
}
END_TEST

/* Of what is cut off the whole attributes are taken; nothing behind the end is read. */
START_TEST(a_cut_is_found)
{
	struct deployment deployment = { 0 };
	uint8_t message[512];
	size_t length = make(message);

	for (size_t kept = 0; kept < length; kept++) {
		uint8_t *alone = malloc(kept ? kept : 1);

		memcpy(alone, message, kept);
		memset(&deployment, 0, sizeof(deployment));
		(void)resource_read(&deployment, alone, kept);
		ck_assert(!deployment.name[0] || strcmp(deployment.name, "shop") == 0);
		free(alone);
	}
	ck_assert(!resource_read(&deployment, message, length - 1));
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
} bad[] = {
	/* 0: a number without an end */ { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
	/* 1: a type that there is not */ { "\x0b", 1 },
	/* 2: longer than all */ { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
	/* 3: half a word */ { "\x09\x01\x02", 3 },
};

START_TEST(other_bytes_are_no_message)
{
	struct deployment deployment = { 0 };

	ck_assert(!resource_read(&deployment, (const uint8_t *)bad[_i].bytes, bad[_i].count));
	ck_assert_str_eq(deployment.name, "");
}
END_TEST

START_TEST(long_texts_are_cut)
{
	struct deployment deployment = { 0 };
	char text[2 * DEPLOYMENT_TEXT_BYTES];

	memset(text, 'a', sizeof(text));
	resource_take(&deployment, "service.name", 12, text, sizeof(text));
	ck_assert_uint_eq(strlen(deployment.name), DEPLOYMENT_TEXT_BYTES - 1);
	resource_take(&deployment, "service.name", 12, "b", 1);
	ck_assert_str_eq(deployment.name, "b");
	ck_assert_str_eq(deployment.version, "");
}
END_TEST

SUITE()
{
	TEST(a_service_has_its_texts);
	TEST(a_cut_is_found);
	EACH(other_bytes_are_no_message, bad);
	TEST(long_texts_are_cut);
}
