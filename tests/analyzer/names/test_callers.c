/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, classes are called after the C or C++ library instead of the program. */
#include "names/callers.h"
#include "sample.h"
#include "suite.h"

static const char program_source[] =
	"namespace std { inline __attribute__((always_inline)) void fast_lock()\n" /* 1 */
	"{ __asm__ volatile(\".globl in_lock\\nin_lock: nop\"); } }\n"             /* 2 */
	"namespace shop {\n"                                                       /* 3 */
	"__attribute__((noinline)) void pay() {\n"                                 /* 4 */
	"	std::fast_lock(); __asm__ volatile(\".globl after_lock\\nafter_lock: nop\");\n" /* 5
												 */
	"}\n"                                                                              /* 6 */
	"}\n"                                                                              /* 7 */
	"namespace std { __attribute__((noinline)) void run() {\n"                         /* 8 */
	"	shop::pay(); __asm__ volatile(\".globl in_run\\nin_run: nop\"); } }\n"     /* 9 */
	"extern \"C\" __attribute__((noinline)) void uv_run() {\n"                         /* 10 */
	"	std::run(); __asm__ volatile(\".globl in_uv\\nin_uv: nop\"); }\n"          /* 11 */
	"int main() { uv_run(); __asm__ volatile(\".globl in_main\\nin_main: nop\"); }\n"; /* 12 */

static const char libc_source[] = "void start_thread(void) { __asm__ volatile(\"nop\"); }\n"
				  "void qsort(void) { __asm__ volatile(\"nop\"); }\n";

static const char ruby_source[] = "void take_lock(void) { __asm__ volatile(\"nop\"); }\n";

static char program[SAMPLE_PATH_BYTES], libc[SAMPLE_PATH_BYTES], ruby[SAMPLE_PATH_BYTES];
static const char *strings[] = {
	"", program, libc, "/usr/lib/libpthread.so.0", "/usr/bin/python3.12", "[jit]", ruby
};
enum { PROGRAM, LIBC, GONE, PYTHON, JIT, RUBY };

static struct rec_module modules[] = {
	[PROGRAM] = { 0, 1, 0, 0, 0, 0x100000, 0, 0, false, 0 },
	[LIBC] = { 0, 2, 0, 0x200000, 0x200000, 0x100000, 0, 0, false, 0 },
	[GONE] = { 0, 3, 0, 0x400000, 0x400000, 0x100000, 0, 0, false, 0 },
	[PYTHON] = { 0, 4, 0, 0x600000, 0x600000, 0x100000, 0, 0, false, 0 },
	[JIT] = { 0, 5, 0, 0, 0, 0, 0, 0, false, 0 },
	[RUBY] = { 0, 6, 0, 0x800000, 0x800000, 0x100000, 0, 0, false, 0 },
};

enum { FRAMES_MAX = 6 };

/* A frame is a symbol of a module; its return address is one behind it. "?" has no module. */
struct named_frame {
	uint32_t module;
	const char *symbol;
};

static const struct {
	struct named_frame frames[FRAMES_MAX]; /* innermost first */
	const char *innermost;
	const char *outermost;
	const char *site;
} cases[] = {
	/*  0 */ {
		{ { LIBC, "qsort" }, { PROGRAM, "in_main" } }, "main", "", "main() program.cc:12" },
	/*  1 */
	{ { { LIBC, "qsort" }, { PROGRAM, "in_lock" } },
	  "shop::pay",
	  "",
	  "shop::pay() program.cc:5" },
	/*  2 */
	{ { { PROGRAM, "in_run" }, { PROGRAM, "in_main" } }, "main", "", "main() program.cc:12" },
	/*  3 */ { { { PROGRAM, "in_uv" }, { PROGRAM, "in_run" }, { LIBC, "qsort" } }, "", "", "" },
	/*  4 */
	{ { { LIBC, "qsort" },
	    { PROGRAM, "after_lock" },
	    { PROGRAM, "in_run" },
	    { PROGRAM, "in_main" },
	    { LIBC, "start_thread" } },
	  "shop::pay",
	  "main",
	  "shop::pay() program.cc:5" },
	/*  5 */
	{ { { PROGRAM, "after_lock" }, { LIBC, "qsort" } },
	  "shop::pay",
	  "",
	  "shop::pay() program.cc:5" },
	/*  6 */
	{ { { PROGRAM, "after_lock" }, { GONE, "17" } },
	  "shop::pay",
	  "shop::pay",
	  "shop::pay() program.cc:5" },
	/*  7 */
	{ { { NO_INDEX, "32" }, { PROGRAM, "in_main" }, { LIBC, "start_thread" } },
	  "main",
	  "main",
	  "main() program.cc:12" },
	/*  8 */
	{ { { PROGRAM, "7" }, { LIBC, "start_thread" } },
	  "program+0x8",
	  "program+0x8",
	  "program+0x8" },
	/*  9 */ { { { NO_INDEX, "32" } }, "", "", "" },
	/* 10 */ { { { 0, NULL } }, "", "", "" },
	/* 11 */
	{ { { LIBC, "qsort" },
	    { PROGRAM, "after_lock" },
	    { RUBY, "take_lock" },
	    { LIBC, "start_thread" } },
	  "shop::pay",
	  "",
	  "shop::pay() program.cc:5" },
	/* 12 */
	{ { { RUBY, "take_lock" }, { PROGRAM, "in_main" }, { LIBC, "start_thread" } },
	  "main",
	  "main",
	  "main() program.cc:12" },
};

static void build(void)
{
	sample_begin();
	sample_build("g++", "program", program_source, "-g -O2 -falign-functions=1");
	sample_build("gcc", "libc.so.6", libc_source, "-g -O2 -shared -fPIC -fno-builtin");
	sample_build("gcc", "libruby.so.3", ruby_source, "-g -O2 -shared -fPIC");
	strcpy(program, sample_path("program"));
	strcpy(ruby, sample_path("libruby.so.3"));
	strcpy(libc, sample_path("libc.so.6"));
}

static struct rec_frame frames[FRAMES_MAX];
static struct rec_stack stacks[2] = { { 0, 0 }, { 0, 0 } };

static struct rec_process processes[] = { { .pid = 4000031, .exe = 1, .op = NO_INDEX } };

static const struct recording recording = {
	.modules = modules,
	.module_count = sizeof(modules) / sizeof(modules[0]),
	.processes = processes,
	.process_count = 1,
	.strings = strings,
	.string_count = sizeof(strings) / sizeof(strings[0]),
	.stacks = stacks,
	.stack_count = 2,
	.frames = frames,
	.frame_count = FRAMES_MAX,
};

static void fill_stack(const struct named_frame *named)
{
	uint32_t count = 0;

	for (; count < FRAMES_MAX && named[count].symbol; count++) {
		const char *symbol = named[count].symbol;
		uint64_t number = strtoull(symbol, NULL, 10);

		frames[count].module = named[count].module;
		frames[count].offset =
			1 + (number ? number
				    : sample_symbol(named[count].module == LIBC   ? "libc.so.6"
						    : named[count].module == RUBY ? "libruby.so.3"
										  : "program",
						    symbol));
	}
	stacks[1].frame_count = count;
}

START_TEST(the_programs_own_frame)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	char text[256];

	fill_stack(cases[_i].frames);
	ck_assert_str_eq(callers_function_text(callers_innermost(callers, 1), text, sizeof(text)),
			 cases[_i].innermost);
	ck_assert_str_eq(callers_function_text(callers_outermost(callers, 1), text, sizeof(text)),
			 cases[_i].outermost);
	ck_assert_str_eq(callers_site_text(callers_innermost(callers, 1), text, sizeof(text)),
			 cases[_i].site);
	ck_assert_ptr_null(callers_innermost(callers, 0).place);
	ck_assert_ptr_null(callers_outermost(callers, 0).place);
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

/* A pattern may be of functions or of libraries, but takes nobody's whole program away. */
START_TEST(more_may_be_passed_over)
{
	static const struct {
		const char *pattern;
		uint32_t exe; /* string id */
		const char *innermost;
	} rows[] = {
		/* 0 */ { "^shop::", 1, "main" },
		/* 1 */ { "prog", 0, "" }, /* a library of that name */
		/* 2 */ { "prog", 1, "shop::pay" },
		/* 3 */ { "nothing", 1, "shop::pay" },
	};
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	regex_t skips[2];
	char text[256];

	fill_stack(cases[4].frames);
	regcomp(&skips[0], "^unheard of$", REG_EXTENDED | REG_NOSUB);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct callers_options options = { skips, 2 };
		struct callers *callers;

		regcomp(&skips[1], rows[i].pattern, REG_EXTENDED | REG_NOSUB);
		processes[0].exe = rows[i].exe;
		callers = callers_new(&recording, symbols, &options);
		callers_function_text(callers_innermost(callers, 1), text, sizeof(text));
		ck_assert_msg(!strcmp(text, rows[i].innermost), "row %zu: %s", i, text);
		callers_free(callers);
		regfree(&skips[1]);
	}
	processes[0].exe = 1;
	regfree(&skips[0]);
	symbols_free(symbols);
}
END_TEST

START_TEST(the_innermost_with_a_name)
{
	static const struct named_frame stripped[] = {
		{ PROGRAM, "7" }, { LIBC, "qsort" }, { PROGRAM, "after_lock" }, { 0, NULL }
	};
	static const struct named_frame only_main[] = { { PROGRAM, "7" },
							{ PROGRAM, "in_main" },
							{ 0, NULL } };
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	char text[256];

	fill_stack(stripped);
	ck_assert_str_eq(callers_function_text(callers_named(callers, 1), text, sizeof(text)),
			 "shop::pay");
	fill_stack(only_main);
	ck_assert_ptr_null(callers_named(callers, 1).place);
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

START_TEST(who_called_the_caller)
{
	static const struct named_frame none[] = { { PROGRAM, "in_main" },
						   { LIBC, "qsort" },
						   { 0, NULL } };
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	char text[256];

	fill_stack(cases[4].frames);
	ck_assert_str_eq(callers_function_text(callers_second(callers, 1), text, sizeof(text)),
			 "main");
	fill_stack(none);
	ck_assert_ptr_null(callers_second(callers, 1).place);
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

/* An interpreter's frames are nobody's; what its map calls functions are the program's. */
START_TEST(interpreters)
{
	static const struct named_frame python[] = {
		{ LIBC, "1" }, { PYTHON, "5" }, { JIT, "20480" }, { PYTHON, "9" }, { 0, NULL }
	};
	static char *dumps[1];
	char text[256];

	dumps[0] = strdup(sample_path("dump"));
	fill_stack(python);
	for (int i = 0; i < 2; i++) {
		struct symbols *symbols;
		struct callers *callers;

		if (i)
			sample_write("perf-4000031.map", "5000 10 py::serve:/srv/app.py\n", 30);
		symbols = symbols_new(&recording, dumps, 1);
		callers = callers_new(&recording, symbols, NULL);
		bool has_interpreter = false;
		for (uint32_t k = 0; k < recording.stacks[1].frame_count; k++)
			has_interpreter |= callers_is_interpreter(
				callers, recording.frames[recording.stacks[1].first_frame + k]);
		ck_assert(has_interpreter);
		ck_assert(!callers_is_interpreter(callers, (struct rec_frame){ NO_INDEX, 0 }));
		ck_assert_str_eq(
			callers_function_text(callers_innermost(callers, 1), text, sizeof(text)),
			i ? "serve" : "");
		/* As Python's own have no names here. */
		ck_assert_ptr_null(callers_interpreter(callers, 1).place);
		callers_free(callers);
		symbols_free(symbols);
	}
	free(dumps[0]);
}
END_TEST

/* Locks of an interpreter's own are called after its functions. */
START_TEST(interpreters_of_themselves)
{
	static const struct named_frame stack[] = {
		{ LIBC, "1" }, { PYTHON, "9" }, { RUBY, "take_lock" }, { 0, NULL }
	};
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	char text[256];

	fill_stack(stack);
	ck_assert_ptr_null(callers_innermost(callers, 1).place);
	callers_function_text(callers_interpreter(callers, 1), text, sizeof(text));
	ck_assert_str_eq(text, "take_lock");
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

/* Code that is not the program's own is no answer to what ran. */
START_TEST(runtimes)
{
	static const struct {
		uint32_t module;
		const char *function;
		bool is_runtime;
		const char *file;
	} rows[] = {
		/* 0 */ { LIBC, "qsort", true, NULL },
		/* 1 */ { LIBC, NULL, true, NULL },
		/* 2 */ { PROGRAM, "shop::pay", false, NULL },
		/* 3 */ { PROGRAM, NULL, false, NULL },
		/* 4 */ { PROGRAM, "_start", true, NULL },
		/* 5 */ { PROGRAM, "std::run", true, NULL },
		/* 6 */ { NO_INDEX, "start_thread", true, NULL },
		/* 7 */ { NO_INDEX, NULL, false, NULL },
		/* 8 */ { PYTHON, "eval", false, NULL },
		/* 9 */ { NO_INDEX, "Thread.run", true, "/usr/lib/python3.11/threading.py" },
		/* 10 */ { NO_INDEX, "serve", false, "/srv/python3.11/threads.py" },
		/* 11 */ { NO_INDEX, "_find_spec", true, "<frozen importlib._bootstrap>" },
		/* 12 */ { NO_INDEX, NULL, false, "/usr/lib/python3.11/queue.py" },
		/* 13 */ { NO_INDEX, "java.lang.Thread.sleep", true, NULL },
		/* 14 */ { NO_INDEX, "counter_overflow Runtime1 stub", true, NULL },
		/* 15 */ { NO_INDEX, "org.app.Worker.parse", false, NULL },
	};
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct symbol_frame function = { .function = rows[i].function,
						       .file = rows[i].file };
		ck_assert_msg(callers_is_runtime(callers, (struct rec_frame){ rows[i].module, 16 },
						 &function) == rows[i].is_runtime,
			      "row %zu", i);
	}
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

START_TEST(start_routines)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	uint64_t qsort_address = 0x200000 + sample_symbol("libc.so.6", "qsort");
	char text[256];

	ck_assert_str_eq(callers_function_text(
				 callers_routine(callers, 0, sample_symbol("program", "in_run"), 0),
				 text, sizeof(text)),
			 "");
	ck_assert_str_eq(callers_function_text(
				 callers_routine(callers, 0, sample_symbol("program", "main"), 0),
				 text, sizeof(text)),
			 "main");
	ck_assert_ptr_null(callers_routine(callers, 0, qsort_address, 0).place);
	ck_assert_ptr_null(callers_routine(callers, 0, 0x900000, 0).place);
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(build, sample_end);
	EACH(the_programs_own_frame, cases);
	TEST(more_may_be_passed_over);
	TEST(the_innermost_with_a_name);
	TEST(who_called_the_caller);
	TEST(interpreters);
	TEST(interpreters_of_themselves);
	TEST(runtimes);
	TEST(start_routines);
}
