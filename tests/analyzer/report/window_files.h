/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of windows in files of a folder of their own: of a program that sleeps all the time.
 *
 * Included by one test program each, so its functions are static. One thread.
 */
#ifndef WCPROF_TESTS_WINDOW_FILES_H
#define WCPROF_TESTS_WINDOW_FILES_H

#include "base/options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_FILES = 4, MS = 1000000 };

static char window_folder[] = "/tmp/test_windows.XXXXXX";
static char window_names[WINDOW_FILES][64];
static char *window_paths[WINDOW_FILES];

/* From and to in milliseconds. The first half of the window is a sleep, if it has any. */
static inline void window_file(int index, int pid, int from_ms, int to_ms, bool sleeps)
{
	FILE *file = fopen(window_paths[index], "w");
	long long from = (long long)from_ms * MS, to = (long long)to_ms * MS;

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"{\"schema_version\":1,\"epoch_unix_nano\":1000000,\"dumped_unix_nano\":%lld,"
		"\"process\":{\"pid\":%d,\"cpus\":2,\"start_unix_nano\":1000000},"
		"\"strings\":[\"\",\"program\",\"thread\",\"nanosleep\"],\"windows\":[%lld,%lld],"
		"\"threads\":[{\"th\":1,\"tid\":%d,\"name\":\"worker\",\"op\":4294967297}],"
		"\"open_ops\":["
		"{\"op_id\":1,\"kind\":\"process\",\"class_id\":1,\"start_ns\":0},"
		"{\"op_id\":4294967297,\"parent_id\":1,\"kind\":\"thread\",\"class_id\":2,"
		"\"start_ns\":10,\"th\":1,\"a\":4096}]}\n",
		1000000 + to, pid, from, to, pid);
	if (sleeps)
		fprintf(file,
			"{\"e\":\"op\",\"k\":\"sleep\",\"id\":%lld,\"p\":4294967297,\"c\":3,"
			"\"s\":%lld,\"d\":%lld,\"th\":1,\"rq\":%lld}\n",
			4294967300LL + index, from, (from + to) / 2, (to - from) / 2);
	fclose(file);
}

static inline void window_files_begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(window_folder));
	for (int i = 0; i < WINDOW_FILES; i++) {
		snprintf(window_names[i], sizeof(window_names[i]), "%s/%d", window_folder, i);
		window_paths[i] = window_names[i];
	}
}

static inline void window_files_end(void)
{
	for (int i = 0; i < WINDOW_FILES; i++)
		unlink(window_paths[i]);
	rmdir(window_folder);
}

/* As of a command without options, for the first `count` files. */
static inline struct options window_options(int count)
{
	static char name[] = "wcprof-analyze", *arguments[WINDOW_FILES + 2] = { name };
	struct options options;
	char error[OPTIONS_ERROR_BYTES];

	for (int i = 0; i < count; i++)
		arguments[i + 1] = window_paths[i];
	ck_assert_int_eq(options_parse(&options, count + 1, arguments, error), 0);
	return options;
}

#endif
