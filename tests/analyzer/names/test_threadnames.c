/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads are called after whatever their runtime happened to call first. */
#include "names/threadnames.h"

#include "sketch.h"
#include "suite.h"

enum { PROGRAM, LIBC };
enum { CLEANUP = 1, WORK, CLOSURE, LAMBDA, NODE, FUNCTIONS };

static const char *const functions[FUNCTIONS] = { "",
						  "tsd_cleanup",
						  "work",
						  "app::main::{{closure}}",
						  "Pool$$Lambda$1/0x7f037c000a08.run",
						  "requireBuiltin" };

/* The file's names come with the recording. Stack n is function n, called from libc. */
struct named {
	struct sketch sketch;
	struct rec_module modules[2];
	struct rec_naming naming;
	struct rec_named_frame frames[FUNCTIONS];
	struct rec_named_code codes[FUNCTIONS];
	struct rec_stack stacks[FUNCTIONS];
	struct rec_frame stack_frames[2 * FUNCTIONS];
	struct rec_process process;
};

static void named_begin(struct named *of)
{
	struct recording *rec = &of->sketch.rec;

	sketch_begin(&of->sketch);
	uint32_t path = sketch_string(&of->sketch, "/nowhere/app");
	of->process = (struct rec_process){ .pid = 1, .exe = path, .op = NO_INDEX };
	rec->processes = &of->process;
	of->modules[PROGRAM] = (struct rec_module){
		.path = path, .base = 0x10000, .start = 0x10000, .size = 0x10000
	};
	of->modules[LIBC] =
		(struct rec_module){ .path = sketch_string(&of->sketch, "/lib/none/libc.so.6"),
				     .base = 0x40000,
				     .start = 0x40000,
				     .size = 0x10000 };
	rec->modules = of->modules;
	rec->module_count = 2;
	of->naming = (struct rec_naming){ .path = path };
	rec->namings = &of->naming;
	rec->naming_count = 1;
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		of->frames[i].function = sketch_string(&of->sketch, functions[i]);
		of->frames[i].file = i == NODE ? sketch_string(&of->sketch, "node:internal/x") : 0;
		of->codes[i] = (struct rec_named_code){ .offset = 0x100 * i,
							.first_frame = i,
							.frame_count = 1,
							.is_return_address = true };
		of->stacks[i] = (struct rec_stack){ 2 * i, 2 };
		of->stack_frames[2 * i] = (struct rec_frame){ PROGRAM, 0x100 * i };
		of->stack_frames[2 * i + 1] = (struct rec_frame){ LIBC, 0x300 };
	}
	rec->named_frames = of->frames;
	rec->named_frame_count = FUNCTIONS;
	rec->named_codes = of->codes + 1;
	rec->named_code_count = FUNCTIONS - 1;
	rec->stacks = of->stacks;
	rec->stack_count = FUNCTIONS;
	rec->frames = of->stack_frames;
	rec->frame_count = 2 * FUNCTIONS;
	sketch_thread(&of->sketch, "main", 0, 100);
}

/* A thread whose start routine is libc's, with one call from each of these stacks. */
static uint32_t thread_with(struct named *of, const char *name, const uint32_t *stacks)
{
	uint32_t thread = sketch_thread(&of->sketch, "thread", 0, 100);

	of->sketch.rec.threads[thread].name = sketch_string(&of->sketch, name);
	of->sketch.rec.extras[of->sketch.rec.threads[thread].op].address = 0x40100;
	for (int i = 0; stacks[i]; i++) {
		uint32_t op = sketch_io(&of->sketch, thread, "munmap", "", 0, i, i + 0.5);

		of->sketch.rec.extras[op].stack = stacks[i];
	}
	return thread;
}

START_TEST(most_stacks_tell)
{
	static const struct {
		uint32_t stacks[6];
		const char *own, *expected;
	} rows[] = {
		/* 0 */ { { CLEANUP, WORK, WORK }, "app", "work" },
		/* 1 */ { { WORK, WORK, CLEANUP }, "app", "work" },
		/* 2 */ { { WORK, WORK, CLEANUP }, "eater", "work" },
		/* 3 */ { { CLEANUP }, "app", "tsd_cleanup" },
		/* 4 */ { { CLOSURE, CLEANUP, CLOSURE }, "eater", "eater" },
		/* 5 */ { { CLOSURE, CLEANUP, CLOSURE }, "app", "app::main::{{closure}}" },
		/* 6 */ { { 0 }, "eater", "eater" },
		/* 7 */ { { 0 }, "Thread-0", "Thread-#" },
		/* 8 */ { { 0 }, "Thread-11", "Thread-#" },
		/* 9 */ { { WORK }, "Thread-2", "work" },
		/* 10 */ { { 0 }, "flusher7", "flusher7" },
		/* 11 */ { { 0 }, "flusher7", "flusher7" },
		/* 12 */ { { LAMBDA }, "pool-1-thread-1", "pool-1-thread-#" },
		/* 13 */ { { LAMBDA }, "pool-1-thread-2", "pool-1-thread-#" },
		/* 14 */ { { NODE, WORK, NODE }, "node", "work" },
	};
	struct named of = { 0 };
	uint32_t threads[sizeof(rows) / sizeof(rows[0])];

	named_begin(&of);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		threads[i] = thread_with(&of, rows[i].own, rows[i].stacks);
	struct symbols *symbols = symbols_new(&of.sketch.rec, NULL, 0);
	struct callers *callers = callers_new(&of.sketch.rec, symbols, NULL);
	uint32_t *names = thread_names_find(&of.sketch.rec, callers);
	ck_assert_str_eq(of.sketch.rec.strings[names[0]], "main");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(!strcmp(of.sketch.rec.strings[names[threads[i]]], rows[i].expected),
			      "row %zu: %s", i, of.sketch.rec.strings[names[threads[i]]]);
	free(names);
	callers_free(callers);
	symbols_free(symbols);
	sketch_free(&of.sketch);
}
END_TEST

START_TEST(a_jit_compiles_by_itself)
{
	ck_assert(thread_name_is_runtime("C2 CompilerThre"));
	ck_assert(thread_name_is_runtime("C1 CompilerThre"));
	ck_assert(!thread_name_is_runtime("http-worker-1"));
	ck_assert(!thread_name_is_runtime("main"));
}
END_TEST

SUITE()
{
	TEST(most_stacks_tell);
	TEST(a_jit_compiles_by_itself);
}
