/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, recorded addresses get the wrong names, or a missing file becomes an error. */
#include "names/symbols.h"

#include "sample.h"
#include "suite.h"

enum { BASE_0 = 0x550000000000, BASE_1 = 0x560000000000, MODULE_BYTES = 0x100000 };

static char program[SAMPLE_PATH_BYTES], build_id[64];

static const char *strings[] = { "", program, build_id, "/nowhere/libgone.so.1", "00ff", "[page]" };

/* The last but one is of another build. */
static struct rec_module modules[] = {
	/* 0 */ { 1, 1, 2, BASE_1, BASE_1, MODULE_BYTES, 0, 0, false, 0 },
	/* 1 */ { 0, 3, 4, BASE_0 + 0x200000, BASE_0 + 0x200000, 0x1000, 0, 0, false, 0 },
	/* 2 */ { 0, 1, 2, BASE_0, BASE_0, MODULE_BYTES, 0, 0, false, 0 },
	/* 3 */ { 0, 1, 4, BASE_0 + 0x300000, BASE_0 + 0x300000, 0x1000, 0, 0, false, 0 },
	/* 4 */ { 0, 5, 0, BASE_0 + 0x400000, BASE_0 + 0x400000, 0x1000, 0, 0, false, 0 },
};

static const struct recording recording = {
	.modules = modules,
	.module_count = sizeof(modules) / sizeof(modules[0]),
	.strings = strings,
	.string_count = sizeof(strings) / sizeof(strings[0]),
};

static void build(void)
{
	sample_begin();
	sample_build("gcc", "server", sample_c, "-g -O2 -falign-functions=1");
	sample_build_id("server", build_id);
	strcpy(program, sample_path("server"));
}

static const char *text_of(const struct symbol_place *place, size_t frame)
{
	static char text[256];

	return symbols_frame_text(place, frame, text, sizeof(text));
}

START_TEST(frames_are_named)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct rec_frame frame = { 2, sample_symbol("server", "in_inner") };
	const struct symbol_place *place = symbols_place(symbols, frame, false);

	ck_assert_uint_eq(place->frame_count, 3);
	ck_assert_str_eq(text_of(place, 0), "inner server.c:3");
	ck_assert_str_eq(text_of(place, 1), "middle server.c:8");
	ck_assert_str_eq(text_of(place, 2), "outer server.c:12");
	ck_assert(place->frames[0].is_inlined && place->frames[1].is_inlined);
	ck_assert(!place->frames[2].is_inlined);
	ck_assert_str_eq(place->module, "server");
	ck_assert_uint_eq(place->offset, frame.offset);
	ck_assert_uint_eq(place->function_offset, frame.offset - sample_symbol("server", "outer"));
	/* The same address of another process is the same answer, looked up once. */
	frame.module = 0;
	ck_assert_ptr_eq(symbols_place(symbols, frame, false), place);
	symbols_free(symbols);
}
END_TEST

/* As libc has them: write() is __GI___libc_write to itself. */
START_TEST(the_plainest_name_is_shown)
{
	static const char source[] = "int __GI_ask(void) { return 1; }\n"
				     "int ask(void) __attribute__((alias(\"__GI_ask\")));\n"
				     "int __own(void) { return 2; }\n";
	static char path[SAMPLE_PATH_BYTES], id[64];
	const char *names[] = { "", path, id };
	struct rec_module module = { 0, 1, 2, BASE_0, BASE_0, MODULE_BYTES, 0, 0, false, 0 };
	const struct recording aliased = {
		.modules = &module, .module_count = 1, .strings = names, .string_count = 3
	};

	sample_build("gcc", "libask.so", source, "-g -O2 -shared -fPIC");
	sample_build_id("libask.so", id);
	strcpy(path, sample_path("libask.so"));
	struct symbols *symbols = symbols_new(&aliased, NULL, 0);
	struct rec_frame frame = { 0, sample_symbol("libask.so", "ask") };
	ck_assert_str_eq(text_of(symbols_place(symbols, frame, false), 0), "ask libask.so.c:1");
	frame.offset = sample_symbol("libask.so", "__own");
	ck_assert_str_eq(text_of(symbols_place(symbols, frame, false), 0), "__own libask.so.c:3");
	symbols_free(symbols);
}
END_TEST

START_TEST(a_return_address_names_the_call)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct rec_frame frame = { 2, sample_symbol("server", "after_stop") };

	/* The call is the function's last instruction, so its return address is the next
	 * function's. */
	ck_assert_str_eq(text_of(symbols_place(symbols, frame, true), 0), "last_call server.c:21");
	ck_assert_str_ne(text_of(symbols_place(symbols, frame, false), 0), "last_call server.c:21");
	symbols_free(symbols);
}
END_TEST

static const struct {
	struct rec_frame frame;
	const char *text;
} nameless[] = {
	/* 0 */ { { 1, 0x123 }, "libgone.so.1+0x123" }, /* no such file */
	/* 1 */ { { 3, 0x1234 }, "server+0x1234" },     /* another build */
	/* 2 */ { { 4, 0x10 }, "[page]+0x10" },         /* no file at all */
	/* 3 */ { { NO_INDEX, 0x7f00 }, "[jit]" },      /* outside all modules */
	/* 4 */ { { 2, 0x7fffffff }, "server+0x7fffffff" },
	/* 5 */ { { 2, 0 }, "server+0x0" },
};

START_TEST(without_a_name_the_offset)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	const struct symbol_place *place = symbols_place(symbols, nameless[_i].frame, true);

	ck_assert_uint_eq(place->frame_count, 1);
	ck_assert_ptr_null(place->frames[0].function);
	ck_assert_str_eq(text_of(place, 0), nameless[_i].text);
	symbols_free(symbols);
}
END_TEST

/* Stripped of all symbols: a function is known by where it starts. */
START_TEST(a_stripped_function_has_one_name)
{
	static const char of_none[] = "stripped+0x";
	char text[256], other[256];

	sample_build("gcc", "stripped", sample_c, "-O2");
	uint64_t outer = sample_symbol("stripped", "outer");
	uint64_t helper = sample_symbol("stripped", "helper");
	sample_run("cd %s && strip stripped", sample_directory);
	const char *names[] = { "", sample_path("stripped") };
	struct rec_module module = { .path = 1, .size = MODULE_BYTES };
	const struct recording of = {
		.strings = names, .string_count = 2, .modules = &module, .module_count = 1
	};
	struct symbols *symbols = symbols_new(&of, NULL, 0);
	symbols_function_text(symbols_place(symbols, (struct rec_frame){ 0, outer + 4 }, true), 0,
			      text, sizeof(text));
	ck_assert_msg(!strncmp(text, of_none, strlen(of_none)) &&
			      strtoull(text + strlen(of_none), NULL, 16) == outer,
		      "%s", text);
	symbols_function_text(symbols_place(symbols, (struct rec_frame){ 0, outer + 2 }, true), 0,
			      other, sizeof(other));
	ck_assert_str_eq(text, other);
	symbols_function_text(symbols_place(symbols, (struct rec_frame){ 0, helper + 4 }, true), 0,
			      other, sizeof(other));
	ck_assert_str_ne(text, other);
	symbols_free(symbols);
}
END_TEST

/* Files that were never asked for are not opened, and no fault of theirs is told. */
START_TEST(what_became_of_files)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct symbol_file_info file;

	ck_assert_uint_eq(symbols_file_count(symbols), 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(symbols_file(symbols, i).state, SYMBOL_FILE_UNUSED);
	symbols_place(symbols, (struct rec_frame){ 1, 1 }, true);
	symbols_place(symbols, (struct rec_frame){ 3, 1 }, true);
	symbols_place(symbols, (struct rec_frame){ 2, 1 }, true);
	file = symbols_file(symbols, symbols_file_of_module(symbols, 1));
	ck_assert_int_eq(file.state, SYMBOL_FILE_MISSING);
	ck_assert_str_eq(file.path, "/nowhere/libgone.so.1");
	file = symbols_file(symbols, symbols_file_of_module(symbols, 3));
	ck_assert_int_eq(file.state, SYMBOL_FILE_OTHER_BUILD);
	ck_assert_str_eq(file.build_id, "00ff");
	ck_assert_str_eq(file.found_build_id, build_id);
	file = symbols_file(symbols, symbols_file_of_module(symbols, 0));
	ck_assert_int_eq(file.state, SYMBOL_FILE_OPEN);
	symbols_free(symbols);
}
END_TEST

static const struct {
	uint32_t process;
	uint64_t address;
	uint32_t module;
} ranges[] = {
	/* 0 */ { 0, BASE_0, 2 },
	/* 1 */ { 0, BASE_0 + MODULE_BYTES - 1, 2 },
	/* 2 */ { 0, BASE_0 + MODULE_BYTES, NO_INDEX },
	/* 3 */ { 0, BASE_0 - 1, NO_INDEX },
	/* 4 */ { 0, BASE_0 + 0x200fff, 1 },
	/* 5 */ { 1, BASE_0, NO_INDEX },
	/* 6 */ { 1, BASE_1 + 1, 0 },
	/* 7 */ { 0, BASE_1 + 1, NO_INDEX },
	/* 8 */ { 0, 0, NO_INDEX },
	/* 9 */ { 1, UINT64_MAX, NO_INDEX },
};

START_TEST(modules_by_address)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);

	ck_assert_uint_eq(symbols_module(symbols, ranges[_i].process, ranges[_i].address, 0),
			  ranges[_i].module);
	symbols_free(symbols);
}
END_TEST

START_TEST(data_objects)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	uint64_t table_lock = sample_symbol("server", "table_lock");
	char text[64];

	ck_assert(symbols_object_text(symbols, 0, BASE_0 + table_lock, 0, text, sizeof(text)));
	ck_assert_str_eq(text, "table_lock");
	ck_assert(symbols_object_text(symbols, 1, BASE_1 + table_lock + 8, 0, text, sizeof(text)));
	ck_assert_str_eq(text, "table_lock+8");
	ck_assert(symbols_object_text(symbols, 0, BASE_0 + sample_symbol("server", "cache") + 16, 0,
				      text, sizeof(text)));
	ck_assert_str_eq(text, "cache+16");
	ck_assert(symbols_object_text(symbols, 0, BASE_0 + 0x200010, 0, text, sizeof(text)));
	ck_assert_str_eq(text, "libgone.so.1+0x10");
	ck_assert(symbols_object_text(symbols, 0, BASE_0 + sample_symbol("server", "worker"), 0,
				      text, sizeof(text)));
	ck_assert_str_eq(text, "worker");
	ck_assert(!symbols_object_text(symbols, 0, 0x1000, 0, text, sizeof(text)));
	ck_assert_str_eq(text, "");
	symbols_free(symbols);
}
END_TEST

START_TEST(routines_by_address)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	uint64_t worker = BASE_1 + sample_symbol("server", "worker");

	ck_assert_str_eq(symbols_place_of_address(symbols, 1, worker, 0)->frames[0].function,
			 "worker");
	ck_assert_str_eq(text_of(symbols_place_of_address(symbols, 1, 0x99, 0), 0), "[jit]");
	symbols_free(symbols);
}
END_TEST

START_TEST(many_addresses_keep_their_answers)
{
	enum { ADDRESSES = 5000 };
	static const struct symbol_place *places[ADDRESSES];
	struct symbols *symbols = symbols_new(&recording, NULL, 0);

	for (uint64_t i = 0; i < ADDRESSES; i++)
		places[i] = symbols_place(symbols, (struct rec_frame){ 2, i }, false);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		ck_assert_uint_eq(places[i]->offset, i);
		ck_assert_ptr_eq(places[i],
				 symbols_place(symbols, (struct rec_frame){ 2, i }, false));
		ck_assert_ptr_ne(places[i],
				 symbols_place(symbols, (struct rec_frame){ 2, i }, true));
		ck_assert_ptr_ne(places[i],
				 symbols_place(symbols, (struct rec_frame){ 1, i }, false));
	}
	symbols_free(symbols);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(build, sample_end);
	TEST(frames_are_named);
	TEST(the_plainest_name_is_shown);
	TEST(a_return_address_names_the_call);
	EACH(without_a_name_the_offset, nameless);
	TEST(a_stripped_function_has_one_name);
	TEST(what_became_of_files);
	EACH(modules_by_address, ranges);
	TEST(data_objects);
	TEST(routines_by_address);
	TEST(many_addresses_keep_their_answers);
}
