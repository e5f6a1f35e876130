/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a mistake in the configuration goes unnoticed, a rule fits what it should not, or
 * an error tells a secret. */
#include "config.h"

#include <string.h>

#include "suite.h"

#define PROCESS "[process]\nname = x\n"
#define UPLOAD  PROCESS "[upload]\nto = pyroscope\nurl = http://h\n"

static struct config config;
static char error[CONFIG_ERROR_BYTES];

static const struct {
	const char *text, *error; /* NULL: it is right */
} rows[] = {
	/*  0 */ { PROCESS, NULL },
	/*  1 */ { UPLOAD, NULL },
	/*  2 */ { "# c\n\n  scan_s\t=  5  \r\n" PROCESS, NULL },
	/*  3 */ { "", "line 1: nothing is recorded: there is no section [process]" },
	/*  4 */ { "scan_s = 0\n" PROCESS, "line 1: scan_s is a number from 1 to 3600" },
	/*  5 */ { "\nscan_s = -1\n", "line 2: scan_s is a number" },
	/*  6 */ { "scan_s = 99999999999999999999999\n", "line 1: scan_s is a number" },
	/*  7 */ { "scan_s = 5s\n", "line 1: scan_s is a number" },
	/*  8 */ { "scan = 5\n", "line 1: there is no key scan here" },
	/*  9 */ { "name = x\n", "line 1: there is no key name here" },
	/* 10 */ { PROCESS "url = http://h\n", "line 3: there is no key url here" },
	/* 11 */ { "scan_s\n", "line 1: a line is key = value" },
	/* 12 */ { "[processes]\n", "line 1: a section is [process] or [upload]" },
	/* 13 */ { "[process]\nname = (\n", "line 2: name is no extended regular expression" },
	/* 14 */ { PROCESS "name = y\n", "line 3: name is there twice" },
	/* 15 */ { "[process]\nservice = x\n", "line 2: this section of processes lacks its name" },
	/* 16 */ { PROCESS "budget = 101%\n", "line 3: budget is a percentage" },
	/* 17 */ { PROCESS "budget = 1% 2\n", "line 3: budget is a percentage" },
	/* 18 */
	{ PROCESS "[upload]\nto = x\n", "line 4: to is pyroscope, parca, datadog or otlp" },
	/* 19 */
	{ PROCESS "[upload]\nurl = http://h\n", "line 4: this section of an upload lacks its to" },
	/* 20 */
	{ PROCESS "[upload]\nto = parca\n", "line 4: this section of an upload lacks its url" },
	/* 21 */ { UPLOAD "url = ftp://h\n", "line 6: url begins with http:// or https://" },
	/* 22 */ { UPLOAD "url = http://\n", "line 6: url begins with http:// or https://" },
	/* 23 */ { UPLOAD "url = http://u:hunter2@h\n", "line 6: url has no password" },
	/* 24 */ { UPLOAD "url = http://h/?key=hunter2\n", "line 6: url has no password" },
	/* 25 */ { UPLOAD "url = http://h\x01hunter2\n", "line 6: url has a space" },
	/* 26 */ { UPLOAD "to = otlp\n", "line 6: otlp needs protocol = 1.10" },
	/* 27 */ { UPLOAD "to = otlp\nprotocol = 1.9\n", "line 7: otlp needs protocol = 1.10" },
	/* 28 */ { UPLOAD "to = otlp\nprotocol = 1.10\n", NULL },
	/* 29 */ { "HUNTER2 = 1\n", "line 1: keys are words of small letters" },
	/* 30 */ { UPLOAD "insecure = 2\n", "line 6: insecure is a number from 0 to 1" },
};

START_TEST(errors_name_their_line_and_no_value)
{
	bool is_right = config_parse(&config, rows[_i].text, error);

	ck_assert_int_eq(is_right, !rows[_i].error);
	if (is_right)
		config_free(&config);
	else
		ck_assert_msg(strncmp(error, rows[_i].error, strlen(rows[_i].error)) == 0, "%s",
			      error);
	ck_assert_ptr_null(strcasestr(error, "hunter2"));
}
END_TEST

START_TEST(what_is_not_there_is_as_usual)
{
	ck_assert(config_parse(&config, UPLOAD, error));
	ck_assert_uint_eq(config.agent.interval_s, 60);
	ck_assert_str_eq(config.agent.store, "/var/lib/wcprof");
	ck_assert_str_eq(config.agent.host, "");
	ck_assert_str_eq(config.processes[0].budget, "1%");
	ck_assert_str_eq(config.processes[0].service, "");
	ck_assert_uint_eq(config.uploads[0].timeout_s, 10);
	ck_assert_uint_eq(config.uploads[0].insecure, 0);
	config_free(&config);
}
END_TEST

START_TEST(the_first_rule_that_fits_is_the_one)
{
	ck_assert(config_parse(&config,
			       "[process]\nname = re.*|ng\ncommand = --port 1\nservice = one\n"
			       "[process]\nname = redis\nservice = two\n"
			       "[process]\ncommand = app\\.jar\nservice = three\n",
			       error));
	ck_assert_str_eq(config_find(&config, "redis", "", "redis --port 1")->service, "one");
	ck_assert_str_eq(config_find(&config, "redis", "", "redis --port 2")->service, "two");
	ck_assert_str_eq(config_find(&config, "java", "", "java -jar app.jar")->service, "three");
	/* A name fits as a whole. */
	/* a link, and the file that it leads to: either name will do */
	ck_assert_str_eq(config_find(&config, "link", "redis", "redis --port 2")->service, "two");
	ck_assert_str_eq(config_find(&config, "redis", "file", "redis --port 2")->service, "two");
	ck_assert_ptr_null(config_find(&config, "predis", "", "x"));
	ck_assert_ptr_null(config_find(&config, "redis-server", "", "x"));
	ck_assert_ptr_null(config_find(&config, "ngx", "", "--port 1"));
	config_free(&config);
}
END_TEST

START_TEST(there_are_bounds)
{
	static char text[CONFIG_BYTES_MAX];
	size_t used = 0;

	memset(text, 'x', 2000);
	ck_assert(!config_parse(&config, text, error));
	ck_assert_str_eq(error, "line 1: a line has at most 1023 bytes");
	for (int i = 0; i <= CONFIG_PROCESSES_MAX; i++)
		used += (size_t)sprintf(text + used, PROCESS);
	ck_assert(!config_parse(&config, text, error));
	ck_assert_str_eq(error, "line 129: there are at most 64 sections [process]");
	used = (size_t)sprintf(text, PROCESS "service = ");
	memset(text + used, 'y', 256);
	text[used + 256] = '\0';
	ck_assert(!config_parse(&config, text, error));
	ck_assert_str_eq(error, "line 3: service is a text of at most 255 bytes");
}
END_TEST

START_TEST(a_file_that_is_none_is_an_error)
{
	ck_assert(!config_read(&config, "/nowhere/at/all", error));
	ck_assert_str_eq(error, "No such file or directory");
	ck_assert(!config_read(&config, "/proc/self/environ", error));
	ck_assert_str_eq(error, "it is no text");
}
END_TEST

SUITE()
{
	EACH(errors_name_their_line_and_no_value, rows);
	TEST(what_is_not_there_is_as_usual);
	TEST(the_first_rule_that_fits_is_the_one);
	TEST(there_are_bounds);
	TEST(a_file_that_is_none_is_an_error);
}
