/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: an op says that its descriptor is what it is not, or was before. Or a call
 * that makes or closes descriptors does something else than without the library.
 */
#include "target.h"
#include "suite.h"

enum { PROCESSES_MAX = 4 };

static const char *const scenarios[] = {
	/* 0 */ "pipes",
	/* 1 */ "pairs",
	/* 2 */ "tcp",
	/* 3 */ "paths",
	/* 4 */ "replaced",
	/* 5 */ "reused",
	/* 6 */ "remade",
	/* 7 */ "files",
	/* 8 */ "others",
	/* 9 */ "child",
	/* 10 */ "server",
	/* 11 */ "several",
	/* 12 */ "counters",
};

/* The target's processes tell of their ops, a line each. */
struct statement {
	int pid;
	char text[OUTPUT_MAX + 1];
};

static struct statement statements[PROCESSES_MAX];

static int read_statements(const char *directory)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int count = 0;
	DIR *handle = opendir(directory);

	while ((entry = readdir(handle))) {
		if (!strstr(entry->d_name, ".expected"))
			continue;
		ck_assert_int_lt(count, PROCESSES_MAX);
		struct statement *statement = &statements[count++];
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		FILE *file = fopen(path, "r");
		size_t size = fread(statement->text, 1, OUTPUT_MAX, file);
		statement->text[size] = 0;
		statement->pid = atoi(entry->d_name);
		fclose(file);
	}
	closedir(handle);
	return count;
}

/* Calls of the target to say all this, or on its way. Most are ops only when they take long. */
static bool is_of_target(const char *call)
{
	static const char *const calls[] = { "bind",     "fclose",     "fflush", "fopen",
					     "fprintf",  "freopen",    "fstat",  "fputs",
					     "fwrite",   "lseek",      "mmap",   "munmap",
					     "printf",   "putc",       "puts",   "putchar",
					     "readlink", "setsockopt", "unlink" };
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(call, calls[i]) == 0)
			return true;
	return false;
}

/* The same in a recording's words. */
static void describe_ops(json_t *lines, char *text)
{
	json_t *header = json_array_get(lines, 0);
	size_t size = 0;

	text[0] = 0;
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);
		const char *kind = word_of(event, "k");
		if ((strcmp(kind, "io") != 0 && strcmp(kind, "poll") != 0) ||
		    is_of_target(text_of(header, event, "c")))
			continue;
		const char *call = text_of(header, event, "c");
		bool accepts = strcmp(call, "accept") == 0;
		size += (size_t)snprintf(text + size, OUTPUT_MAX - size, "%s %s%s%s%s\n", call,
					 json_object_get(event, "ac") ? "accepted " : "",
					 accepts ? text_of(header, event, "i2") : "",
					 accepts ? " of " : "", text_of(header, event, "i"));
		ck_assert_uint_lt(size, OUTPUT_MAX);
	}
}

static void check_dump(const char *scenario, json_t *lines, int count)
{
	static char found[OUTPUT_MAX + 1];
	json_t *process = json_object_get(json_array_get(lines, 0), "process");
	json_int_t pid = json_integer_value(json_object_get(process, "pid"));

	describe_ops(lines, found);
	for (int i = 0; i < count; i++)
		if (statements[i].pid == pid) {
			ck_assert_msg(strcmp(found, statements[i].text) == 0,
				      "%s: recorded\n%s\ninstead of\n%s", scenario, found,
				      statements[i].text);
			return;
		}
	ck_abort_msg("%s: process %d says nothing", scenario, (int)pid);
}

START_TEST(test_scenario)
{
	static struct outcome alone, on;
	const char *scenario = scenarios[_i];
	char directory[64];
	struct dumps dumps;

	make_directory(directory);
	run_target("descriptors", scenario, ALONE, directory, &alone);
	load_dumps(&dumps, directory);
	run_target("descriptors", scenario, ON, directory, &on);
	int count = read_statements(directory);
	load_dumps(&dumps, directory);
	rmdir(directory);

	ck_assert_msg(alone.status == 0 && on.status == 0 && strcmp(alone.output, on.output) == 0,
		      "%s: status %x, printed\n%s\nand alone %x\n%s", scenario, on.status,
		      on.output, alone.status, alone.output);
	ck_assert_msg(!strstr(on.output, "nothing is proved"), "%s: %s", scenario, on.output);
	ck_assert_int_gt(count, 0);
	ck_assert_int_eq(dumps.count, count);
	for (int i = 0; i < count; i++)
		check_dump(scenario, dumps.lines[i], count);
	free_dumps(&dumps);
}
END_TEST

/* A call between two descriptors names both; what is only looked at is not moved. */
START_TEST(test_both_ends_and_bytes)
{
	static const struct target_case row = { "between",
						"moved",
						{ { "op", "io", "recv", 2, 2 } } };
	struct dumps dumps;
	json_t *splice = NULL, *tee = NULL;
	json_int_t received = 0;

	run_case(&row, &dumps);
	json_t *header = json_array_get(dumps.lines[0], 0);
	for (size_t i = 1; i < json_array_size(dumps.lines[0]); i++) {
		json_t *event = json_array_get(dumps.lines[0], i);
		const char *name = text_of(header, event, "c");
		if (strcmp(name, "splice") == 0)
			splice = event;
		if (strcmp(name, "tee") == 0)
			tee = event;
		if (strcmp(name, "recv") == 0)
			received += number_of(event, "n");
	}
	ck_assert_msg(splice && tee, "not recorded");
	ck_assert_int_eq(number_of(splice, "n"), 3);
	ck_assert_int_eq(number_of(tee, "n"), 2);
	ck_assert_int_eq(strncmp(text_of(header, splice, "i"), "pipe:[", 6), 0);
	ck_assert_int_ne(number_of(splice, "i"), number_of(splice, "i2"));
	ck_assert_int_eq(number_of(splice, "i"), number_of(tee, "i2"));
	ck_assert_int_eq(number_of(splice, "i2"), number_of(tee, "i"));
	ck_assert_int_eq(received, 4);
	free_dumps(&dumps);
}
END_TEST

/* A datagram has the address that it went to or came from, unless it went to several; or as many
 * messages as one call moved. */
START_TEST(test_datagrams_and_letters)
{
	static const struct target_case rows[] = {
		{ "between", "sent", { { "op", "io", "send", 8, 8 } } },
		{ "between", "received", { { "op", "io", "recv", 9, 9 } } },
		{ "between", "letters", { { "op", "io", "msg", 6, 6 } } },
	};
	static const struct {
		const char *call, *ident, *other;
		json_int_t bytes, messages;
	} wanted[] = {
		{ "sendto", "unix dgram @between-0-", "@between-1-", 4, 0 },
		{ "sendto", "unix dgram @between-0-", "@between-1-", 2, 0 },
		{ "sendmsg", "unix dgram @between-0-", "@between-1-", 5, 0 },
		{ "sendmmsg", "unix dgram @between-0-", "@between-1-", 15, 3 },
		{ "recvmmsg", "unix dgram @between-1-", "", 6, 2 },
		{ "recv", "unix dgram @between-1-", "", 0, 0 },
		{ "recv", "unix dgram @between-1-", "", 5, 0 },
		{ "sendmmsg", "unix dgram @between-0-", "", 10, 2 },
		{ "recvfrom", "unix dgram @between-1-", "@between-0-", 1, 0 },
		{ "recvfrom", "unix dgram @between-1-", "", 2, 0 },
		{ "recvfrom", "unix dgram @between-1-", "@between-0-", 3, 0 },
		{ "recvmsg", "unix dgram @between-1-", "@between-0-", 4, 0 },
		{ "recvmmsg", "unix dgram @between-1-", "@between-0-", 5, 0 },
		{ "recvfrom", "unix dgram @between-1-", "@between-0-", 7, 0 },
		{ "recvfrom", "unix dgram @between-1-", "", 8, 0 },
		{ "msgsnd", "sysv queue ", "", 5, 0 },
		{ "msgsnd", "sysv queue ", "", 5, 0 },
		{ "msgrcv", "sysv queue ", "", 5, 0 },
	};
	size_t next = 0;

	for (int k = 0; k < 3; k++) {
		struct dumps dumps;
		const char *types[] = { "type 4", "type 9", "type 9", "type 4" };
		size_t letter = 0;

		run_case(&rows[k], &dumps);
		json_t *header = json_array_get(dumps.lines[0], 0);
		for (size_t i = 1; i < json_array_size(dumps.lines[0]); i++) {
			json_t *event = json_array_get(dumps.lines[0], i);
			const char *name = text_of(header, event, "c");
			const char *ident = text_of(header, event, "i");
			const char *other = text_of(header, event, "i2");

			if (strncmp(name, "msg", 3) == 0 && letter < 4 && ident[0])
				ck_assert_ptr_nonnull(strstr(ident, types[letter++]));
			if (next == sizeof(wanted) / sizeof(wanted[0]) ||
			    strcmp(name, wanted[next].call) != 0 ||
			    number_of(event, "n") != wanted[next].bytes)
				continue;
			ck_assert_int_eq(number_of(event, "nm"), wanted[next].messages);
			ck_assert_int_eq(
				strncmp(ident, wanted[next].ident, strlen(wanted[next].ident)), 0);
			ck_assert_int_eq(
				strncmp(other, wanted[next].other, strlen(wanted[next].other)), 0);
			ck_assert_int_eq(other[0] != '\0', wanted[next].other[0] != '\0');
			next++;
		}
		free_dumps(&dumps);
	}
	ck_assert_uint_eq(next, sizeof(wanted) / sizeof(wanted[0]));
}
END_TEST

SUITE()
{
	EACH(test_scenario, scenarios);
	TEST(test_both_ends_and_bytes);
	TEST(test_datagrams_and_letters);
}
