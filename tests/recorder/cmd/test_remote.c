/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a host's or process's name becomes an option of ssh, or something that a shell runs. */
#include "remote.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static const struct {
	const char *text, *host, *process; /* host NULL: it is none of another host */
} names[] = {
	/* 0 */ { "web1:4711", "web1", "4711" },
	/* 1 */ { "me@web-1.example.org:nginx", "me@web-1.example.org", "nginx" },
	/* 2 */ { "10.0.0.1:^a.*b$", "10.0.0.1", "^a.*b$" },
	/* 3 */ { "4711", NULL, NULL },
	/* 4 */ { "-oProxyCommand=touch:1", NULL, NULL },
	/* 5 */ { "web 1:4711", NULL, NULL },
	/* 6 */ { "$(id):4711", NULL, NULL },
	/* 7 */ { ":4711", NULL, NULL },
	/* 8 */ { "web1:", NULL, NULL },
	/* 9: a program that calls itself so */ { "nginx: worker process", NULL, NULL },
	/* 10 */ { "../x:1", NULL, NULL },
	/* 11 */ { "a/b:1", NULL, NULL },
	/* 12 */ { "web1;id:1", NULL, NULL },
};

START_TEST(a_host_is_a_name_only)
{
	char host[REMOTE_HOST_BYTES];
	const char *process = NULL;
	bool is_one = remote_parse(names[_i].text, host, &process);

	ck_assert_int_eq(is_one, names[_i].host != NULL);
	if (!is_one)
		return;
	ck_assert_str_eq(host, names[_i].host);
	ck_assert_str_eq(process, names[_i].process);
}
END_TEST

static const char *const hostile[] = { "plain",    "two words", "it's", "$(echo run)",
				       "`id`",     "a\"b",      "a\\b", "*",
				       "; exit 7", "",          "-x",   "a\nb" };

/* Its command prints its last argument; the user's shell is sh here. The end of its input would end
 * it. */
START_TEST(words_stay_as_they_are)
{
	struct remote remote;
	const struct cmd_options options = { .remote_path = "printf" };
	const char *words[] = { "%s", hostile[_i], NULL };
	char said[256] = "", expected[256], command[REMOTE_SCRIPT_BYTES + 64];
	FILE *shell;
	size_t length;
	int input[2];

	ck_assert(remote_script(&remote, &options, words));
	ck_assert_int_eq(setenv("SCRIPT", remote.script, 1), 0);
	ck_assert_int_eq(pipe(input), 0);
	ck_assert_int_eq(fcntl(input[1], F_SETFD, FD_CLOEXEC), 0);
	ck_assert_int_eq(write(input[1], "go\n", 3), 3);
	snprintf(command, sizeof(command), "exec sh -c \"$SCRIPT\" <&%d", input[0]);
	shell = popen(command, "r");
	ck_assert_ptr_nonnull(shell);
	length = fread(said, 1, sizeof(said) - 1, shell);
	said[length] = '\0';
	pclose(shell);
	close(input[0]);
	close(input[1]);
	snprintf(expected, sizeof(expected), "wcprof is ready\n%s", hostile[_i]);
	ck_assert_str_eq(said, expected);
}
END_TEST

START_TEST(a_script_is_whole_or_none)
{
	struct remote remote;
	const struct cmd_options options = { .remote_path = NULL };
	char longest[REMOTE_SCRIPT_BYTES];
	const char *words[] = { longest, NULL };

	for (size_t length = 1; length < sizeof(longest) - 1; length += 97) {
		memset(longest, 'x', length);
		longest[length] = '\0';
		if (remote_script(&remote, &options, words))
			ck_assert_int_eq(remote.script[strlen(remote.script) - 1], '\'');
		else
			ck_assert_uint_gt(length, sizeof(longest) / 2);
	}
}
END_TEST

SUITE()
{
	EACH(a_host_is_a_name_only, names);
	EACH(words_stay_as_they_are, hostile);
	TEST(a_script_is_whole_or_none);
}
