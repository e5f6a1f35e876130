/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs target programs with and without the library, and reads what they left.
 *
 * A case runs one scenario of one target three times: alone, with the library preloaded and off,
 * and with it recording. All three must end in the same way and print the same; the recording must
 * contain what the case expects. The library is the one of this build; where it is missing, every
 * case fails.
 */
#ifndef TEST_TARGET_H
#define TEST_TARGET_H

#include "suite.h"

#include <dirent.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXPECT_MAX = 10, OUTPUT_MAX = 65536, DUMPS_MAX = 128 };
/* A target that hangs is a failure, no hang of the tests: three such runs end before the test. */
enum { TARGET_SECONDS = 180 };

/* A number of events of this type, word (kind, reason or link kind) and name ("" = any). */
struct expect {
	const char *event;
	const char *word;
	const char *name;
	int least;
	int most;
};

enum { MANY = INT_MAX };

struct target_case {
	const char *target;
	const char *scenario;
	struct expect expect[EXPECT_MAX];
};

struct outcome {
	int status;
	char output[OUTPUT_MAX + 1];
};

/* All dumps of one run, each an array of its lines; [0] is the header. */
struct dumps {
	json_t *lines[DUMPS_MAX];
	int count;
};

enum mode { ALONE, OFF, ON };

static inline const char *build_path(const char *name)
{
	static char path[2 * PATH_MAX];
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	ck_assert_int_gt(size, 0);
	self[size] = 0;
	char *build = dirname(dirname(dirname(self)));
	snprintf(path, sizeof(path), "%s/%s", build, name);
	return path;
}

/* Dumps go beside the directory, which is its user's alone: whoever a target becomes can write
 * one. */
static inline const char *dumps_directory(const char *directory)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.dumps", directory);
	return path;
}

static inline void set_environment(enum mode mode, const char *directory)
{
	char output[PATH_MAX + 16];
	snprintf(output, sizeof(output), "%s/%%p.jsonl", dumps_directory(directory));
	mkdir(dumps_directory(directory), 0700);
	chmod(dumps_directory(directory), 01777);
	unsetenv("LD_PRELOAD");
	unsetenv("WCPROF_ENABLE");
	setenv("WCPROF_DIR", directory, 1);
	if (mode == ALONE)
		return;
	setenv("LD_PRELOAD", build_path("libwcprof.so"), 1);
	setenv("WCPROF_OUTPUT", output, 1);
	if (mode == ON)
		setenv("WCPROF_ENABLE", "1", 1);
}

static inline int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Threads print in any order. */
static inline void sort_lines(char *text)
{
	static char sorted[OUTPUT_MAX + 1];
	static char *lines[OUTPUT_MAX / 2];
	size_t count = 0;
	size_t size = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		lines[count++] = line;
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < count; i++)
		size += (size_t)sprintf(sorted + size, "%s\n", lines[i]);
	memcpy(text, sorted, size + 1);
}

static inline void run_target(const char *target, const char *scenario, enum mode mode,
			      const char *directory, struct outcome *outcome)
{
	char program[2 * PATH_MAX];
	char name[PATH_MAX];
	int ends[2];
	size_t size = 0;
	ssize_t more;

	snprintf(name, sizeof(name), "tests/targets/%s", target);
	snprintf(program, sizeof(program), "%s", build_path(name));
	ck_assert_msg(access(program, X_OK) == 0, "%s is not built", program);
	ck_assert_msg(access(build_path("libwcprof.so"), R_OK) == 0, "the library is not built");
	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		set_environment(mode, directory);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		alarm(TARGET_SECONDS);
		execl(program, program, scenario, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (size < OUTPUT_MAX - 1 &&
	       (more = read(ends[0], outcome->output + size, OUTPUT_MAX - 1 - size)) > 0)
		size += (size_t)more;
	outcome->output[size] = 0;
	close(ends[0]);
	sort_lines(outcome->output);
	ck_assert_int_eq(waitpid(pid, &outcome->status, 0), pid);
}

static inline void load_lines(struct dumps *dumps, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	json_error_t error;
	json_t *lines = NULL;

	ck_assert_ptr_nonnull(file);
	while (getline(&line, &room, file) > 0) {
		json_t *value = json_loads(line, 0, &error);
		ck_assert_msg(value, "%s: %s in %s", path, error.text, line);
		if (json_object_get(value, "schema_version")) {
			ck_assert_int_lt(dumps->count, DUMPS_MAX);
			lines = dumps->lines[dumps->count++] = json_array();
		}
		ck_assert_msg(lines, "%s begins without a header", path);
		json_array_append_new(lines, value);
	}
	free(line);
	fclose(file);
}

/* Loads each file that is a dump, and removes them all. */
static inline void empty_directory(struct dumps *dumps, const char *directory)
{
	char path[2 * PATH_MAX];
	struct dirent *entry;
	DIR *handle = opendir(directory);

	ck_assert_ptr_nonnull(handle);
	while ((entry = readdir(handle))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (strstr(entry->d_name, ".jsonl"))
			load_lines(dumps, path);
		unlink(path);
	}
	closedir(handle);
}

/* Reads and removes all dumps of a directory. */
static inline void load_dumps(struct dumps *dumps, const char *directory)
{
	dumps->count = 0;
	empty_directory(dumps, directory);
	empty_directory(dumps, dumps_directory(directory));
	rmdir(dumps_directory(directory));
}

static inline void free_dumps(struct dumps *dumps)
{
	for (int i = 0; i < dumps->count; i++)
		json_decref(dumps->lines[i]);
}

static inline const char *text_of(json_t *header, json_t *event, const char *key)
{
	json_int_t id = json_integer_value(json_object_get(event, key));
	const char *text =
		json_string_value(json_array_get(json_object_get(header, "strings"), (size_t)id));
	return text ? text : "";
}

static inline const char *word_of(json_t *event, const char *key)
{
	const char *word = json_string_value(json_object_get(event, key));
	return word ? word : "";
}

static inline json_int_t number_of(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

static inline bool is_expected(json_t *header, json_t *event, const struct expect *expect)
{
	static const char *const keys[] = { "k", "rs", "lk" };
	bool fits = false;

	if (strcmp(word_of(event, "e"), expect->event) != 0)
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fits |= strcmp(word_of(event, keys[i]), expect->word) == 0;
	const char *name = text_of(header, event, strcmp(expect->event, "link") == 0 ? "i" : "c");
	return fits && strncmp(name, expect->name, strlen(expect->name)) == 0;
}

static inline int count_events(const struct dumps *dumps, const struct expect *expect)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++) {
		json_t *header = json_array_get(dumps->lines[i], 0);
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++)
			count += is_expected(header, json_array_get(dumps->lines[i], j), expect);
	}
	return count;
}

/* Of what ran, taken by the signal: others only say how much CPU time there was. */
static inline int count_stack_samples(const struct dumps *dumps)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++)
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			count += strcmp(word_of(event, "e"), "sample") == 0 &&
				 json_object_get(event, "st");
		}
	return count;
}

static inline json_t *process_in(const struct dumps *dumps)
{
	return json_object_get(json_array_get(dumps->lines[0], 0), "process");
}

static inline void make_directory(char *directory)
{
	strcpy(directory, "/tmp/wcprof-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

/* One case, three runs. Leaves the recording in `dumps` for further questions. */
static inline void run_case(const struct target_case *row, struct dumps *dumps)
{
	static struct outcome alone, off, on;
	char directory[64];

	make_directory(directory);
	run_target(row->target, row->scenario, ALONE, directory, &alone);
	run_target(row->target, row->scenario, OFF, directory, &off);
	load_dumps(dumps, directory);
	free_dumps(dumps);
	run_target(row->target, row->scenario, ON, directory, &on);
	load_dumps(dumps, directory);
	rmdir(directory);

	ck_assert_msg(WIFEXITED(alone.status), "%s %s ends by signal %d even alone", row->target,
		      row->scenario, WTERMSIG(alone.status));
	ck_assert_msg(off.status == alone.status && strcmp(off.output, alone.output) == 0,
		      "%s %s: off: status %x for %x, printed\n%s\nand alone\n%s", row->target,
		      row->scenario, off.status, alone.status, off.output, alone.output);
	ck_assert_msg(on.status == alone.status && strcmp(on.output, alone.output) == 0,
		      "%s %s: on: status %x for %x, printed\n%s\nand alone\n%s", row->target,
		      row->scenario, on.status, alone.status, on.output, alone.output);
	ck_assert_msg(dumps->count > 0, "%s %s left no recording", row->target, row->scenario);
	for (const struct expect *expect = row->expect; expect->event; expect++) {
		int count = count_events(dumps, expect);
		ck_assert_msg(count >= expect->least && count <= expect->most,
			      "%s %s: %d of %s %s %s, expected %d to %d", row->target,
			      row->scenario, count, expect->event, expect->word, expect->name,
			      expect->least, expect->most);
	}
}

/* Of waits that were to last for at most so long, and did: their number. */
static inline int timeouts_within(const struct dumps *dumps, const char *reason, json_int_t most_ns)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++)
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			json_t *asked = json_object_get(event, "rq");
			if (strcmp(word_of(event, "rs"), reason) != 0 || !asked)
				continue;
			ck_assert(json_object_get(event, "to"));
			ck_assert_int_le(json_integer_value(asked), most_ns);
			count++;
		}
	return count;
}

/* The suite of a test program whose cases are a table called `cases`. */
#define TARGET_SUITE()                        \
	START_TEST(test_case)                 \
	{                                     \
		struct dumps dumps;           \
		run_case(&cases[_i], &dumps); \
		free_dumps(&dumps);           \
	}                                     \
	END_TEST                              \
                                              \
	SUITE()                               \
	{                                     \
		EACH(test_case, cases);       \
	}

#endif
