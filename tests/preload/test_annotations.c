/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: the manual's example of wcprof.h does not compile, in C or C++, or needs
 * the library to run. Or it does not say to the library what it says to the reader.
 */
#include "target.h"
#include "suite.h"

enum { SOURCE_MAX = 8192 };

static const char *const compilers[] = {
	/* 0 */ "cc -x c -std=c99 -D_DEFAULT_SOURCE -pedantic -O2",
	/* 1 */ "cc -x c -std=c11 -D_DEFAULT_SOURCE -O0",
	/* 2 */ "cc -x c -std=gnu11 -fno-pie -no-pie -O2",
	/* 3 */ "cc -x c -std=gnu11 -fPIC -fno-plt -O1",
	/* 4 */ "c++ -x c++ -std=c++11 -pedantic -O2",
	/* 5 */ "c++ -x c++ -std=c++17 -fno-pie -no-pie -O0",
};

static const struct expect expected[] = {
	/* 0 */ { "op", "user", "request", 1, 1 },
	/* 1 */ { "op", "user", "query", 1, 1 },
	/* 2 */ { "wait", "call_exec", "", 1, 1 },
	/* 3 */ { "op", "sleep", "usleep", 1, 1 },
};

/* The example in the manual. It has no backslash, which a manual writes in another way. */
static void write_example(const char *path)
{
	static char text[SOURCE_MAX];
	char line[512];
	bool is_inside = false;
	FILE *manual = fopen("recorder/wcprof.h.3", "r");
	FILE *source = fopen(path, "w");

	ck_assert_msg(manual && source, "not run from the top of the sources");
	text[0] = 0;
	while (fgets(line, sizeof(line), manual) && !(is_inside && strcmp(line, ".Ed\n") == 0)) {
		if (is_inside) {
			ck_assert_uint_lt(strlen(text) + strlen(line), SOURCE_MAX);
			strcat(text, line);
		} else {
			is_inside = strcmp(line, ".Bd -literal\n") == 0;
		}
	}
	ck_assert_ptr_nonnull(strstr(text, "int main"));
	ck_assert_ptr_null(strchr(text, '\\'));
	fputs(text, source);
	fclose(source);
	fclose(manual);
}

/* Its exit status, and that of who prints something else. */
static void run_example(const char *program, enum mode mode, const char *directory)
{
	char command[PATH_MAX];
	pid_t pid;
	int status;

	snprintf(command, sizeof(command), "test \"$(%s)\" = done", program);
	pid = fork();
	if (pid == 0) {
		alarm(TARGET_SECONDS);
		set_environment(mode, directory);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* The parent of the event with this kind or class; 0 if there is none. */
static json_int_t parent_of(const struct dumps *dumps, const char *class_name)
{
	for (int i = 0; i < dumps->count; i++) {
		json_t *header = json_array_get(dumps->lines[i], 0);

		for (size_t k = 1; k < json_array_size(dumps->lines[i]); k++) {
			json_t *event = json_array_get(dumps->lines[i], k);

			if (strcmp(text_of(header, event, "c"), class_name) == 0)
				return json_integer_value(json_object_get(event, "p"));
		}
	}
	return 0;
}

START_TEST(test_example)
{
	char directory[64], source[128], program[128], command[1024];
	struct dumps dumps;

	make_directory(directory);
	snprintf(source, sizeof(source), "%s/example", directory);
	snprintf(program, sizeof(program), "%s/example.run", directory);
	write_example(source);
	snprintf(command, sizeof(command), "%s -Wall -Wextra -Werror -Irecorder -o %s %s -lpthread",
		 compilers[_i], program, source);
	ck_assert_msg(system(command) == 0, "%s", command);
	run_example(program, ALONE, directory);
	run_example(program, OFF, directory);
	run_example(program, ON, directory);
	load_dumps(&dumps, directory);
	rmdir(directory);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		ck_assert_msg(count_events(&dumps, &expected[i]) == expected[i].least,
			      "expected event %zu is not there", i);
	/* The worker's calls are the job's, which is the request's. */
	ck_assert_int_ne(parent_of(&dumps, "usleep"), 0);
	ck_assert_int_gt(parent_of(&dumps, "usleep"), parent_of(&dumps, "query"));
	ck_assert_int_gt(parent_of(&dumps, "query"), parent_of(&dumps, "request"));
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_example, compilers);
}
