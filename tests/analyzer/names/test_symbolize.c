/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump with names in it is analysed differently where the program's files are not,
 * or has the names of another build. */
#include <inttypes.h>

#include "names/symbolize.h"
#include "sample.h"
#include "suite.h"

enum { BASE = 0x550000000000, MODULE_BYTES = 0x100000 };

static char *dump_paths[1], *copy_paths[1];

static void build(void)
{
	sample_begin();
	sample_build("gcc", "server", sample_c, "-g -O2");
	dump_paths[0] = strdup(sample_path("dump.jsonl"));
	copy_paths[0] = strdup(sample_path("copy.jsonl"));
}

/* A dump with stacks in the program, one in code of no file, a lock and a start routine. */
static void write_dump(void)
{
	char id[64];
	FILE *file = fopen(dump_paths[0], "w");

	sample_build_id("server", id);
	fprintf(file,
		"{\"schema_version\":1,\"process\":{\"pid\":4000021,\"start_unix_nano\":5,"
		"\"client\":\"4000021:5\"},\"strings\":[\"\",\"write\",\"thread\","
		"\"render app.py:7\"],"
		"\"modules\":[{\"path\":\"%s\",\"build_id\":\"%s\",\"base\":%" PRIu64
		",\"start\":%" PRIu64 ",\"size\":%d}],\"threads\":[{\"th\":1,\"tid\":9}],"
		"\"stacks\":[[],[0,%" PRIu64 "],[-1,4112],[0,5],[-2,3]]}\n",
		sample_path("server"), id, (uint64_t)BASE, (uint64_t)BASE, MODULE_BYTES,
		sample_symbol("server", "in_inner") + 1);
	fprintf(file,
		"{\"e\":\"op\",\"k\":\"thread\",\"id\":1,\"c\":2,\"th\":1,\"s\":1,\"d\":9,"
		"\"a\":%" PRIu64 "}\n"
		"{\"e\":\"op\",\"k\":\"io\",\"id\":2,\"p\":1,\"c\":1,\"th\":1,\"st\":1,\"s\":1,"
		"\"d\":2}\n"
		"{\"e\":\"op\",\"k\":\"hold\",\"id\":3,\"p\":1,\"th\":1,\"st\":2,\"s\":3,\"d\":4,"
		"\"a\":%" PRIu64 "}\n"
		"{\"e\":\"wait\",\"rs\":\"mutex\",\"p\":1,\"th\":1,\"st\":3,\"s\":3,\"d\":4,"
		"\"a\":%" PRIu64 "}\n",
		BASE + sample_symbol("server", "worker"),
		BASE + sample_symbol("server", "table_lock"),
		BASE + sample_symbol("server", "cache") + 16);
	fclose(file);
	sample_write("perf-4000021.map", "1000 100 py::serve:/srv/app.py\n", 31);
}

/* All that a recording says about every address in it, as text. */
static char *all_names(char *const *paths)
{
	struct recording recording;
	struct read_error error;
	struct symbols *symbols;
	char text[256], *names;
	size_t count;
	FILE *to = open_memstream(&names, &count);

	ck_assert_int_eq(recording_read(&recording, paths, 1, &error, NULL), 0);
	ck_assert(recording_is_valid(&recording));
	symbols = symbols_new(&recording, paths, 1);
	for (size_t i = 0; i < recording.frame_count; i++) {
		const struct symbol_place *place =
			symbols_place(symbols, recording.frames[i], true);

		fprintf(to, "%s %" PRIu64 ":", place->module, place->function_offset);
		for (size_t k = 0; k < place->frame_count; k++)
			fprintf(to, " %s%s", symbols_frame_text(place, k, text, sizeof(text)),
				place->frames[k].is_inlined ? "," : ";");
	}
	fprintf(to, " %s",
		symbols_frame_text(
			symbols_place_of_address(symbols, 0, recording.extras[0].address, 1), 0,
			text, sizeof(text)));
	symbols_object_text(symbols, 0, recording.extras[2].address, 3, text, sizeof(text));
	fprintf(to, " %s", text);
	symbols_object_text(symbols, 0, recording.waits[0].address, 3, text, sizeof(text));
	fprintf(to, " %s", text);
	symbols_free(symbols);
	recording_free(&recording);
	fclose(to);
	return names;
}

static struct symbolize_counts symbolize(char *const *paths, const char *to_path)
{
	struct symbolize_counts counts;
	struct recording recording;
	struct read_error error;
	struct packages packages;
	struct symbols *symbols;
	FILE *to = fopen(to_path, "w");

	ck_assert_int_eq(recording_read(&recording, paths, 1, &error, NULL), 0);
	symbols = symbols_new(&recording, paths, 1);
	symbolize_look_up(&recording, symbols);
	packages_build(&packages, &recording, "");
	ck_assert_int_eq(
		symbolize_write(to, &recording, symbols, &packages, paths, 1, &error, &counts), 0);
	packages_free(&packages);
	symbols_free(symbols);
	recording_free(&recording);
	fclose(to);
	return counts;
}

START_TEST(same_names_without_the_files)
{
	struct symbolize_counts counts;
	char *before, *after;

	write_dump();
	before = all_names(dump_paths);
	counts = symbolize(dump_paths, copy_paths[0]);
	ck_assert_uint_eq(counts.files, 2);
	ck_assert_uint_eq(counts.addresses, 3);
	ck_assert_uint_eq(counts.missing_files + counts.other_builds, 0);
	sample_run("cd '%s' && mv server away && mv perf-4000021.map away.map", sample_directory);
	after = all_names(copy_paths);
	ck_assert_str_eq(after, before);
	ck_assert_ptr_nonnull(
		strstr(before, "inner server.c:3, middle server.c:8, outer server.c:12;"));
	ck_assert_ptr_nonnull(strstr(before, "serve"));
	ck_assert_ptr_nonnull(strstr(before, " worker server.c:27 table_lock cache+16"));
	free(after);
	after = all_names(dump_paths);
	ck_assert_str_ne(after, before);
	sample_run("cd '%s' && mv away server && mv away.map perf-4000021.map", sample_directory);
	free(before);
	free(after);
}
END_TEST

START_TEST(what_is_given_is_not_written_again)
{
	write_dump();
	symbolize(dump_paths, copy_paths[0]);
	ck_assert_uint_eq(symbolize(copy_paths, sample_path("again.jsonl")).files, 0);
	sample_run("cd '%s' && cmp copy.jsonl again.jsonl", sample_directory);
}
END_TEST

START_TEST(another_build_is_refused)
{
	struct symbolize_counts counts;

	write_dump();
	sample_run("cd '%s' && mv server away && echo 'int main(void) {}' | gcc -x c -o server -",
		   sample_directory);
	counts = symbolize(dump_paths, copy_paths[0]);
	ck_assert_uint_eq(counts.other_builds, 1);
	ck_assert_uint_eq(counts.files, 1); /* the map of the code of no file */
	sample_run("cd '%s' && mv away server && ! grep -q '\"path\":.*\"texts\"' copy.jsonl",
		   sample_directory);
}
END_TEST

/* More names than one line may have. */
START_TEST(many_names_are_many_lines)
{
	enum { FUNCTIONS = 5000 };
	FILE *file = fopen(dump_paths[0], "w");
	FILE *map = fopen(sample_path("perf-4000021.map"), "w");
	struct symbolize_counts counts;
	struct recording recording;
	struct read_error error;

	fputs("{\"schema_version\":1,\"process\":{\"pid\":4000021,\"client\":\"4000021:5\"},"
	      "\"stacks\":[[]",
	      file);
	for (int i = 0; i < FUNCTIONS; i++) {
		fprintf(file, ",[-1,%d]", 4097 + 16 * i);
		fprintf(map, "%x 10 %0200d\n", 4096 + 16 * i, i);
	}
	fputs("]}\n", file);
	fclose(file);
	fclose(map);
	counts = symbolize(dump_paths, copy_paths[0]);
	ck_assert_uint_eq(counts.addresses, FUNCTIONS);
	sample_run("cd '%s' && test \"$(grep -c '\"names\"' copy.jsonl)\" -gt 3", sample_directory);
	ck_assert_int_eq(recording_read(&recording, copy_paths, 1, &error, NULL), 0);
	ck_assert_uint_eq(recording.named_code_count, FUNCTIONS);
	ck_assert_uint_eq(recording.naming_count, 1);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(build, sample_end);
	TEST(same_names_without_the_files);
	TEST(what_is_given_is_not_written_again);
	TEST(another_build_is_refused);
	TEST(many_names_are_many_lines);
}
