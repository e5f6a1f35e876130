/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, bad input is analysed as if it were good, or good input is refused. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump_text.h"
#include "read/read.h"
#include "suite.h"

#define OP1 "{'e':'op','k':'call','id':1,'s':10,'d':20}\n"
#define OP2 "{'e':'op','k':'call','id':2,'p':1,'s':10,'d':20}\n"

static char directory[] = "/tmp/wcprof-test-read-XXXXXX";

/* A file with these bytes; its path stays valid. */
static char *file_with(const char *name, const char *bytes, size_t byte_count)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];
	FILE *file;

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, byte_count, file), byte_count);
	fclose(file);
	return path;
}

static char *file_with_text(const char *name, const char *text)
{
	char *dump = dump_text(text);
	char *path = file_with(name, dump, strlen(dump));

	free(dump);
	return path;
}

/* Faults of a whole input. The text must say these words, and what to do after the semicolon. */
static const struct {
	const char *text;
	uint64_t line;
	const char *words;
} bad[] = {
	/*  0 */ { "", 0, "empty;" },
	/*  1 */ { " \n\n\r\n", 0, "nothing but space;" },
	/*  2 */ { OP1, 1, "no header" },
	/*  3 */ { "\n\n" OP1, 3, "no header" },
	/*  4 */
	{ "{'schema_version':2,'strings':[]}\n", 1,
	  "schema_version 2 is unknown, this program reads version 1;" },
	/*  5 */ { "{'schema_version':'1'}\n", 1, "schema_version \"1\" is unknown" },
	/*  6 */ { "{'schema_version':null}\n", 1, "schema_version null is unknown" },
	/*  7 */ { "{'schema_version':1.5}\n", 1, "schema_version 1.5 is unknown" },
	/*  8 */ { HEADER "{'e':'op','k':'call','id':1,'s':-5,'d':20}\n" OP1, 2, "negative" },
	/*  9 */
	{ HEADER OP1 "{'e':'op','id':2,'s':1,'d':99999999999999999999999}\n", 3,
	  "too large (column 28);" },
	/* 10 */
	{ HEADER OP1 "{'e':'op','id':2,'s':1,'d':9999999999999999999}\n", 3, "over 36 years" },
	/* 11 */
	{ HEADER "{'e':'wait','p':1,'s':30,'d':20}\n", 2,
	  "it ends (at 20 ns) before it starts (at 30 ns);" },
	/* 12 */
	{ HEADER OP1 "{'e':'op','id':2,'c':4,'s':10,'d':20}\n", 3,
	  "string 4, but the dump's header has 4;" },
	/* 13 */
	{ HEADER "{'e':'op','id':1,'p':1,'s':10,'d':20}\n", 2, "op 1 is its own ancestor;" },
	/* 14 */ { HEADER "{'e':'op','id':1,'p':2,'s':1,'d':2}\n" OP2, 2, "is its own ancestor;" },
	/* 15 */ { HEADER OP1 "garbage\n" OP2, 3, "expected an object (column 1);" },
	/* 16 */ { HEADER OP1 "{'e':'op','id':\n" OP2, 3, "expected a number (column 16);" },
	/* 17 */ { HEADER OP1 "[1]\n", 3, "expected an object" },
	/* 18 */ { HEADER OP1 "{}\n", 3, "neither \"e\" nor \"schema_version\"" },
	/* 19 */ { HEADER OP1 OP1, 3, "op 1 is also at test:2; give each dump once" },
	/* 20 */ { "{'schema_version':1,'strings':['a", 1, "within its header;" },
	/* 21 */ { "ERR 3 no such process\n", 0, "an error that the recorder answered" },
	/* 22 */
	{ "\x7f"
	  "ELF....",
	  0, "a program or library" },
	/* 23 */
	{ HEADER OP1 OP2 "{'e':'op','id':3,'s':10,'d':20} x\n", 4, "something after the end" },
	/* 24 */
	{ "\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0,
	  "damaged" },
	/* 25 */ { HEADER OP1 "xyz", 3, "expected an object" },
};

START_TEST(bad_input)
{
	read_bad(bad[_i].text, bad[_i].line, bad[_i].words, (size_t)_i);
	ck_assert_msg(strchr(read_error.text, ';'), "row %d does not say what to do: %s", _i,
		      read_error.text);
}
END_TEST

/* The line is cut off at every byte: a warning and the rest, or the whole of it. */
START_TEST(cut_off_anywhere)
{
	const char *text = HEADER OP1
		"{'e':'op','k':'call','o':'\\u00e9\\n','id':2.0e0,'x':[true,null],'s':10,'d':20}";
	size_t before = strlen(HEADER OP1), length;
	char *dump = dump_text(text);
	struct recording recording;

	for (length = before; length <= strlen(dump); length++) {
		int status = recording_read_memory(&recording, "test", dump, length, SIZE_MAX,
						   &read_error);
		bool is_whole = length == strlen(dump);

		ck_assert_msg(status == 0, "%zu bytes: %s", length - before, read_error.text);
		ck_assert_uint_eq(recording.op_count, is_whole ? 2 : 1);
		ck_assert_uint_eq(recording.truncated_files, !is_whole && length > before);
		ck_assert_str_eq(read_error.text, "");
		ck_assert(recording_is_valid(&recording));
		recording_free(&recording);
	}
	free(dump);
}
END_TEST

START_TEST(zeros_at_the_end)
{
	char *dump = dump_text(HEADER OP1 "{'e':'op','k':'ca");
	size_t length = strlen(dump);
	char bytes[1024] = { 0 };
	struct recording recording;

	memcpy(bytes, dump, length);
	ck_assert_int_eq(recording_read_memory(&recording, "test", bytes, sizeof(bytes), SIZE_MAX,
					       &read_error),
			 0);
	ck_assert_uint_eq(recording.truncated_files, 1);
	ck_assert_uint_eq(recording.op_count, 1);
	recording_free(&recording);
	free(dump);
}
END_TEST

START_TEST(lines_may_end_otherwise)
{
	struct recording recording;

	read_good(&recording, "  " HEADER "\r\n\n" OP1 " \t\n  " OP2 "\n\n", 0);
	ck_assert_uint_eq(recording.op_count, 2);
	recording_free(&recording);
	read_good(&recording, HEADER "{'e':'op','k':'call','id':1,'s':10,'d':20}\r\n" OP2, 1);
	ck_assert_uint_eq(recording.op_count, 2);
	recording_free(&recording);
}
END_TEST

/* However the bytes arrive, the recording is the same. */
START_TEST(in_pieces)
{
	static const size_t steps[] = { 1, 2, 3, 7, 64, 1000 };
	struct recording recording;

	ck_assert_int_eq(read_text_in_steps(&recording,
					    HEADER OP1 OP2 "{'e':'wait','p':2,'t':1,'s':3,'d':4}\n",
					    steps[_i]),
			 0);
	ck_assert_uint_eq(recording.op_count, 2);
	ck_assert_uint_eq(recording.ops[1].parent, 0);
	ck_assert_uint_eq(recording.wait_count, 1);
	ck_assert_uint_eq(recording.waits[0].target, 0);
	recording_free(&recording);
}
END_TEST

static int read_paths(struct recording *recording, const char *first, const char *second)
{
	char *paths[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second };

	return recording_read(recording, paths, second ? 2 : 1, &read_error, NULL);
}

START_TEST(not_a_file)
{
	struct recording recording;

	ck_assert_int_eq(read_paths(&recording, directory, NULL), -EISDIR);
	ck_assert_ptr_nonnull(strstr(read_error.text, "a directory;"));
	ck_assert_str_eq(read_error.file, directory);
	ck_assert_uint_eq(read_error.line, 0);
	recording_free(&recording);
	ck_assert_int_eq(read_paths(&recording, "/nonexistent/dump", NULL), -ENOENT);
	ck_assert_ptr_nonnull(strstr(read_error.text, "No such file"));
	recording_free(&recording);
	ck_assert_int_lt(
		read_paths(&recording, file_with("gz", "\x1f\x8b\x08\0\0\0\0\0\0\0", 10), NULL), 0);
	ck_assert_ptr_nonnull(strstr(read_error.text, "gunzip -c"));
	recording_free(&recording);
}
END_TEST

/* 100 MB without a newline must be refused by its length, soon. */
START_TEST(a_very_long_line)
{
	size_t length = 100 << 20, i;
	char *bytes = malloc(length);
	struct recording recording;
	char *header = dump_text(HEADER "{'e':'op','x':'");

	memset(bytes, 'x', length);
	memcpy(bytes, header, strlen(header));
	ck_assert_int_eq(
		recording_read_memory(&recording, "test", bytes, length, 1 << 16, &read_error),
		-EBADMSG);
	ck_assert_ptr_nonnull(strstr(read_error.text, "a line of over 1 MiB, which no event has;"));
	ck_assert_uint_eq(read_error.line, 2);
	recording_free(&recording);
	for (i = 0; i < length; i++)
		bytes[i] = '\n';
	memcpy(bytes, header, strchr(header, '\n') - header);
	ck_assert_int_eq(
		recording_read_memory(&recording, "test", bytes, length, SIZE_MAX, &read_error), 0);
	recording_free(&recording);
	free(header);
	free(bytes);
}
END_TEST

/* A header may be longer than any event. */
START_TEST(a_long_header)
{
	size_t count = 300000, i, used;
	char *bytes = malloc(count * 16 + 4096);
	struct recording recording;

	used = (size_t)sprintf(bytes, "{\"schema_version\":1,\"strings\":[\"\"");
	for (i = 1; i < count; i++)
		used += (size_t)sprintf(bytes + used, ",\"s%zu\"", i);
	used += (size_t)sprintf(
		bytes + used, "]}\n{\"e\":\"op\",\"id\":1,\"c\":%zu,\"s\":1,\"d\":2}\n", count - 1);
	ck_assert_int_eq(
		recording_read_memory(&recording, "test", bytes, used, 100000, &read_error), 0);
	ck_assert_uint_eq(recording.op_count, 1);
	ck_assert_str_eq(recording.strings[recording.ops[0].name], "s299999");
	recording_free(&recording);
	free(bytes);
}
END_TEST

START_TEST(several_files)
{
	struct recording recording;
	char *one = file_with_text("one", HEADER OP1),
	     *two = file_with_text("two", HEADER OP2 "{'e':'op','id':2}\n");

	ck_assert_int_lt(read_paths(&recording, one, two), 0);
	ck_assert_str_eq(read_error.file, two);
	ck_assert_uint_eq(read_error.line, 3);
	recording_free(&recording);
	two = file_with_text("two", "\n" HEADER OP1);
	ck_assert_int_lt(read_paths(&recording, one, two), 0);
	ck_assert_uint_eq(read_error.line, 3);
	ck_assert_ptr_nonnull(strstr(read_error.text, one)); /* where it was first */
	recording_free(&recording);
	two = file_with_text("two", OP2);
	ck_assert_int_lt(read_paths(&recording, one, two),
			 0); /* a header counts for its own file */
	recording_free(&recording);
}
END_TEST

static void *write_slowly(void *argument)
{
	char *dump = dump_text(HEADER OP1 OP2);
	int fd = *(int *)argument;
	size_t i;

	for (i = 0; i < strlen(dump); i++)
		ck_assert_int_eq(write(fd, dump + i, 1), 1);
	close(fd);
	free(dump);
	return NULL;
}

/* `-` is standard input, here a pipe that hands out single bytes. */
START_TEST(standard_input)
{
	struct recording recording;
	pthread_t writer;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_slowly, &ends[1]), 0);
	ck_assert_int_eq(read_paths(&recording, "-", NULL), 0);
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
	ck_assert_uint_eq(recording.op_count, 2);
	recording_free(&recording);
}
END_TEST

static void count_report(void *context, uint64_t bytes_done, uint64_t bytes_total)
{
	uint64_t *last = context;

	ck_assert_uint_ge(bytes_done, *last);
	ck_assert_uint_le(bytes_done, bytes_total);
	*last = bytes_done;
}

START_TEST(progress_is_reported)
{
	char *path = file_with_text("progress", HEADER OP1);
	uint64_t done = 0;
	struct read_progress progress = { count_report, &done };
	struct recording recording;
	struct stat status;

	ck_assert_int_eq(recording_read(&recording, &path, 1, &read_error, &progress), 0);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(done, (uint64_t)status.st_size);
	recording_free(&recording);
}
END_TEST

static void make_directory(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}

SUITE()
{
	FIXTURE_ONCE(make_directory, remove_directory);
	EACH(bad_input, bad);
	TEST(cut_off_anywhere);
	TEST(zeros_at_the_end);
	TEST(lines_may_end_otherwise);
	LOOP(in_pieces, 0, 6);
	TEST(not_a_file);
	TEST(a_very_long_line);
	TEST(a_long_header);
	TEST(several_files);
	TEST(standard_input);
	TEST(progress_is_reported);
}
