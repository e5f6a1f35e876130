/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, profiles come under the name of another service. */
#include "tags.h"

#include <string.h>
#include <unistd.h>

#include "suite.h"

/* With the NUL at the end of the last one. */
#define VARIABLES(text) text, sizeof(text)

static const struct {
	const char *variables;
	size_t bytes;
	const char *service, *version, *environment, *instance;
} rows[] = {
	/*  0 */ { VARIABLES("PATH=/bin"), "", "", "", "" },
	/*  1 */ { VARIABLES("DD_SERVICE=a\0DD_VERSION=1\0DD_ENV=p"), "a", "1", "p", "" },
	/*  2 */ { VARIABLES("DD_SERVICE=a\0OTEL_SERVICE_NAME=b"), "b", "", "", "" },
	/*  3 */
	{ VARIABLES("OTEL_RESOURCE_ATTRIBUTES=service.name=c,service.version=2,"
		    "deployment.environment=d,service.instance.id=i"),
	  "c", "2", "d", "i" },
	/*  4 */
	{ VARIABLES("OTEL_RESOURCE_ATTRIBUTES=service.name=c\0OTEL_SERVICE_NAME=b"), "b", "", "",
	  "" },
	/*  5 */
	{ VARIABLES("OTEL_RESOURCE_ATTRIBUTES=service.name=a%20b%2Cc"), "a b,c", "", "", "" },
	/*  6: parts that are none */
	{ VARIABLES("OTEL_RESOURCE_ATTRIBUTES=x,=y,service.name=%4,service.name=%zz,"
		    "service.name=%00,,service.version=3,"),
	  "", "3", "", "" },
	/*  7 */ { VARIABLES("XDD_SERVICE=a\0DD_SERVICES=b"), "", "", "", "" },
	/*  8 */
	{ VARIABLES("OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=e"), "", "", "e", "" },
	/*  9: another one's, cut off anywhere */ { "DD_SERVICE=abc", 15, "abc", "", "", "" },
};

START_TEST(variables_say_it)
{
	struct tags tags = { 0 };

	tags_add_environment(&tags, rows[_i].variables, rows[_i].bytes);
	ck_assert_str_eq(tags.service, rows[_i].service);
	ck_assert_str_eq(tags.version, rows[_i].version);
	ck_assert_str_eq(tags.environment, rows[_i].environment);
	ck_assert_str_eq(tags.instance, rows[_i].instance);
}
END_TEST

START_TEST(the_configuration_comes_first)
{
	struct config_process rule = { .service = "mine", .version = "9" };
	struct tags tags;

	/* Of this process, whose environment is that of its start. */
	tags_of(&tags, &rule, "here", "program", getpid());
	ck_assert_str_eq(tags.service, "mine");
	ck_assert_str_eq(tags.version, "9");
	ck_assert_str_eq(tags.host, "here");
	ck_assert_int_eq(tags.pid, getpid());
}
END_TEST

START_TEST(without_any_it_is_the_program)
{
	struct config_process rule = { .environment = "e" };
	struct tags tags;
	char host[CONFIG_TAG_BYTES] = "";

	tags_of(&tags, &rule, "", "program", 0);
	ck_assert_str_eq(tags.service, "program");
	ck_assert_str_eq(tags.version, "");
	ck_assert_str_eq(tags.environment, "e");
	ck_assert_int_eq(gethostname(host, sizeof(host)), 0);
	ck_assert_str_eq(tags.host, host);
}
END_TEST

START_TEST(a_long_one_is_cut_off)
{
	char text[1000] = "DD_SERVICE=";
	struct tags tags = { 0 };

	memset(text + 11, 'x', 900);
	tags_add_environment(&tags, text, strlen(text) + 1);
	ck_assert_uint_eq(strlen(tags.service), CONFIG_TAG_BYTES - 1);
}
END_TEST

SUITE()
{
	EACH(variables_say_it, rows);
	TEST(the_configuration_comes_first);
	TEST(without_any_it_is_the_program);
	TEST(a_long_one_is_cut_off);
}
