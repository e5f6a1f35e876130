/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, profiles come under the name of another service. */
#include "tags.h"

#include <string.h>
#include <unistd.h>

#include "suite.h"

#define HEADER(texts) \
	"{\"event_count\":1,\"process\":{\"pid\":1,\"ppid\":1" texts ",\"exe\":\"/bin/a\"}"

static const struct {
	const char *header;
	struct config_process rule;
	const char *service, *version, *environment, *instance;
} rows[] = {
	/* 0 */ { HEADER(""), { .service = "" }, "program", "", "", "" },
	/* 1 */
	{ HEADER(",\"service\":\"a \\\"b\\\"\",\"service_version\":\"1\",\"environment\":\"p\","
		 "\"service_instance\":\"i\""),
	  { .service = "" },
	  "a \"b\"",
	  "1",
	  "p",
	  "i" },
	/* 2: a name and a value that look like a key */
	{ HEADER(",\"service\":\"\\\"service_version\\\":\\\"2\\\"\""),
	  { .service = "" },
	  "\"service_version\":\"2\"",
	  "",
	  "",
	  "" },
	/* 3: the configuration comes first */
	{ HEADER(",\"service\":\"a\",\"service_version\":\"1\""),
	  { .service = "mine", .environment = "e" },
	  "mine",
	  "1",
	  "e",
	  "" },
	/* 4: cut off, as a header without a service may be anywhere */
	{ "{\"event_count\":1,\"process\":{\"service\":\"sh", { .service = "" }, "sh", "", "", "" },
	/* 5 */ { "", { .version = "9" }, "program", "9", "", "" },
};

START_TEST(a_header_and_the_configuration_say_it)
{
	struct tags tags;

	tags_of(&tags, &rows[_i].rule, rows[_i].header, "here", "program", getpid());
	ck_assert_str_eq(tags.service, rows[_i].service);
	ck_assert_str_eq(tags.version, rows[_i].version);
	ck_assert_str_eq(tags.environment, rows[_i].environment);
	ck_assert_str_eq(tags.instance, rows[_i].instance);
	ck_assert_str_eq(tags.program, "program");
	ck_assert_str_eq(tags.host, "here");
	ck_assert_int_eq(tags.pid, getpid());
}
END_TEST

START_TEST(without_a_host_it_is_the_machine)
{
	struct config_process rule = { .service = "" };
	char host[CONFIG_TAG_BYTES] = "";
	struct tags tags;

	tags_of(&tags, &rule, "", "", "program", 0);
	ck_assert_int_eq(gethostname(host, sizeof(host)), 0);
	ck_assert_str_eq(tags.host, host);
}
END_TEST

SUITE()
{
	EACH(a_header_and_the_configuration_say_it, rows);
	TEST(without_a_host_it_is_the_machine);
}
