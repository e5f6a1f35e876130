/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, ops and waits are put into wrong classes, or foreign dumps are renamed. */
#include "format.h"
#include "names/classify.h"
#include "recording/intern.h"
#include "sample.h"
#include "suite.h"

enum { BASE = 0x550000000000, HEAP = 0x7f0000001000, STACK_TOP = 0x7ffe00000000 };
enum { SERVER, LIBC, GONE, PYTHON }; /* modules */
enum {
	NO_STACK,
	IN_HELPER,
	IN_WORKER,
	IN_LIBC,
	START_WORKER,
	START_GONE,
	IN_PYTHON,
	IN_STRIPPED,
	BELOW_MAIN,
	START_STRIPPED
};
enum { MAIN_THREAD, WORKER, NAMED, BY_STACK, NAMELESS, STRIPPED }; /* threads */

static const struct {
	uint32_t module;
	const char *symbol; /* NULL ends the stack */
} stack_frames[][4] = {
	[NO_STACK] = { { 0, NULL } },
	[IN_HELPER] = { { LIBC, "1" }, { SERVER, "helper" }, { SERVER, "main" } },
	[IN_WORKER] = { { SERVER, "worker" } },
	[IN_LIBC] = { { LIBC, "1" }, { LIBC, "2" } },
	[START_WORKER] = { { LIBC, "1" },
			   { SERVER, "helper" },
			   { SERVER, "worker" },
			   { LIBC, "3" } },
	[START_GONE] = { { GONE, "64" }, { LIBC, "3" } },
	[IN_PYTHON] = { { LIBC, "1" }, { PYTHON, "7" } },
	[IN_STRIPPED] = { { GONE, "64" }, { SERVER, "helper" }, { SERVER, "main" } },
	[BELOW_MAIN] = { { GONE, "64" }, { SERVER, "main" } },
	[START_STRIPPED] = { { SERVER, "helper" }, { GONE, "64" }, { LIBC, "3" } },
};

static const struct {
	uint32_t tid;
	const char *name;
	const char *routine; /* symbol, "" = none */
	const char *expected;
} thread_rows[] = {
	[MAIN_THREAD] = { 100, "server", "", "main" },
	[WORKER] = { 101, "server", "worker", "worker" },
	[NAMED] = { 102, "flusher", "?", "flusher" },
	[BY_STACK] = { 103, "pool-1", "", "worker" },
	[NAMELESS] = { 104, "server", "?", "libgone.so+0x40" },
	[STRIPPED] = { 105, "lru-7", "", "lru-7" },
};

static const struct {
	uint16_t kind;
	uint32_t thread;
	const char *recorded;
	uint64_t address; /* 1 = of table_lock, 2 = of cache + 16 */
	uint32_t stack;
	uint64_t start_ns;
	const char *expected;
} op_rows[] = {
	/*  0 */ { KIND_IO, WORKER, "read", 0, IN_HELPER, 10, "helper/read" },
	/*  1 */ { KIND_IO, WORKER, "write", 0, IN_HELPER, 20, "helper/write" },
	/*  2 */ { KIND_IO, WORKER, "read", 0, NO_STACK, 30, "read" },
	/*  3 */ { KIND_POLL, WORKER, "epoll_wait", 0, IN_WORKER, 40, "worker/epoll_wait" },
	/*  4 */ { KIND_SLEEP, WORKER, "nanosleep", 0, IN_LIBC, 50, "worker/nanosleep" },
	/*  5 */ { KIND_DNS, WORKER, "getaddrinfo", 0, IN_HELPER, 60, "helper/getaddrinfo" },
	/*  6 */ { KIND_HOLD, WORKER, "mutex server+0x10", 1, IN_HELPER, 70, "table_lock" },
	/*  7 */ { KIND_HOLD, WORKER, "mutex server+0x20", 2, NO_STACK, 80, "cache+16" },
	/*  8 */
	{ KIND_HOLD, WORKER, "mutex 0x7f0000001000", HEAP, IN_WORKER, 90, "helper() server.c:28" },
	/*  9 */
	{ KIND_HOLD, WORKER, "mutex 0x7f0000001040", HEAP + 64, IN_HELPER, 100,
	  "helper() server.c:28" },
	/* 10 */
	{ KIND_HOLD, WORKER, "mutex 0x7f0000001080", HEAP + 128, NO_STACK, 110,
	  "mutex 0x7f0000001080" },
	/* 11 */ { KIND_HOLD, NO_INDEX, "mutex", HEAP, IN_HELPER, 120, "mutex" },
	/* 12 */ { KIND_OP_USER, WORKER, "request", 0, IN_HELPER, 130, "request" },
	/* 13 */ { KIND_PROCESS, MAIN_THREAD, "server", 0, IN_HELPER, 140, "server" },
	/* 14 */ { KIND_IO, BY_STACK, "read", 0, START_WORKER, 150, "helper/read" },
	/* 15 */
	{ KIND_HOLD, WORKER, "mutex 0x7f00000010c0", HEAP + 192, IN_LIBC, 160,
	  "mutex 0x7f00000010c0" },
	/* 16 */ { KIND_IO, NAMED, "read", 0, IN_PYTHON, 170, "flusher/read" },
	/* 17 */ { KIND_IO, BY_STACK, "read", 0, IN_PYTHON, 180, "worker/read" },
	/* 18 */
	{ KIND_HOLD, WORKER, "mutex 0x7f0000001100", HEAP + 256, IN_HELPER, 190,
	  "worker() server.c:27" },
	/* 19 */
	{ KIND_HOLD, WORKER, "mutex 0x7f0000001140", HEAP + 320, IN_HELPER, 200,
	  "helper() server.c:28" },
	/* 20 */ { KIND_IO, WORKER, "read", 0, IN_STRIPPED, 210, "helper../read" },
	/* 21 */ { KIND_IO, WORKER, "write", 0, BELOW_MAIN, 220, "libgone.so+0x41/write" },
	/* 22 */ { KIND_IO, STRIPPED, "read", 0, START_STRIPPED, 230, "helper/read" },
	/* 23 */ { KIND_IO, NAMED, "read", 0, START_GONE, 240, "flusher../read" },
	/* 24 */ { KIND_IO, STRIPPED, "read", 0, START_GONE, 250, "lru-../read" },
	/* 25 */ { KIND_IO, NAMELESS, "read", 0, START_GONE, 260, "libgone.so+0x41/read" },
	/* 26 */ { KIND_IO, MAIN_THREAD, "write", 0, BELOW_MAIN, 270, "main../write" },
	/* 27 */ { KIND_IO, STRIPPED, "read", 0, IN_STRIPPED, 280, "helper../read" },
};

static const struct {
	uint16_t reason;
	const char *recorded;
	uint64_t address;
	uint32_t stack;
	uint64_t start_ns;
	uint32_t target_thread; /* NO_INDEX = no target */
	const char *expected;
} wait_rows[] = {
	/* 0 */ { REASON_MUTEX, "mutex 0x7f0000001000", HEAP, IN_HELPER, 85, NO_INDEX,
		  "helper() server.c:28" },
	/* 1 */ { REASON_COND, "cond", 1, IN_WORKER, 1, NO_INDEX, "table_lock" },
	/* 2 */ { REASON_JOIN, "pool-1", 0, IN_HELPER, 2, BY_STACK, "worker" },
	/* 3 */ { REASON_JOIN, "pool-1", 0, IN_HELPER, 3, NO_INDEX, "pool-1" },
	/* 4 */ { REASON_EXEC, "child", 0, IN_HELPER, 4, NO_INDEX, "child" },
	/* 5 */ { REASON_SEM, "sem", 0, IN_HELPER, 5, NO_INDEX, "sem" },
	/* 6 */ { REASON_LOCK, "kept", HEAP, IN_HELPER, 6, NO_INDEX, "kept" },
	/* 7 */
	{ REASON_FUTEX, "futex 0x1", STACK_TOP, IN_WORKER, 7, NO_INDEX, "worker() server.c:27" },
};

/* Initialised objects; nobody uses the last one. */
static const struct rec_link link_rows[] = {
	{ .kind = LINK_INIT, .at_ns = 100, .address = HEAP + 256, .stack = IN_WORKER },
	{ .kind = LINK_INIT, .at_ns = 50, .address = HEAP + 256, .stack = IN_HELPER },
	{ .kind = LINK_INIT, .at_ns = 195, .address = HEAP + 256, .stack = IN_HELPER },
	{ .kind = LINK_WAKE, .at_ns = 100, .address = HEAP + 320, .stack = IN_WORKER },
	{ .kind = LINK_INIT, .at_ns = 100, .address = HEAP + 384, .stack = IN_WORKER },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { OPS = COUNT(op_rows), THREADS = COUNT(thread_rows), WAITS = COUNT(wait_rows) };

static struct recording recording;
static uint32_t op_name[OPS + THREADS], wait_name[WAITS];

static uint32_t add_module(uint32_t index, const char *path, uint64_t start)
{
	static struct rec_module modules[4];

	modules[index] = (struct rec_module){
		.path = recording_intern(&recording, path),
		.base = start,
		.start = start,
		.size = 0x100000,
	};
	recording.modules = modules;
	return recording.module_count = index + 1;
}

static void add_stacks(void)
{
	static struct rec_stack stacks[COUNT(stack_frames)];
	static struct rec_frame frames[COUNT(stack_frames) * 4];

	for (size_t i = 0; i < COUNT(stack_frames); i++) {
		stacks[i].first_frame = (uint32_t)recording.frame_count;
		for (size_t k = 0; k < 4 && stack_frames[i][k].symbol; k++) {
			const char *symbol = stack_frames[i][k].symbol;
			uint64_t number = strtoull(symbol, NULL, 10);

			frames[recording.frame_count++] = (struct rec_frame){
				stack_frames[i][k].module,
				1 + (number ? number : sample_symbol("server", symbol)),
			};
			stacks[i].frame_count++;
		}
	}
	recording.stacks = stacks;
	recording.stack_count = COUNT(stacks);
	recording.frames = frames;
}

static uint64_t address_of(uint64_t row)
{
	if (row == 1)
		return BASE + sample_symbol("server", "table_lock");
	return row == 2 ? BASE + sample_symbol("server", "cache") + 16 : row;
}

static void add_threads(void)
{
	static struct rec_thread threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		const char *routine = thread_rows[i].routine;

		threads[i] = (struct rec_thread){
			.tid = thread_rows[i].tid,
			.name = recording_intern(&recording, thread_rows[i].name),
			.op = (uint32_t)(OPS + i),
		};
		recording.ops[OPS + i] = (struct rec_op){
			.kind = KIND_THREAD,
			.thread = (uint32_t)i,
			.name = recording_intern(&recording, "thread"),
		};
		if (routine[0])
			recording.extras[OPS + i].address =
				BASE +
				(routine[0] == '?' ? 0x400040 : sample_symbol("server", routine));
	}
	recording.threads = threads;
	recording.thread_count = THREADS;
}

static void add_ops_and_waits(void)
{
	static struct rec_op ops[OPS + THREADS];
	static struct rec_op_extra extras[OPS + THREADS];
	static struct rec_wait waits[WAITS];

	for (size_t i = 0; i < OPS; i++) {
		ops[i] = (struct rec_op){
			.kind = op_rows[i].kind,
			.thread = op_rows[i].thread,
			.name = recording_intern(&recording, op_rows[i].recorded),
			.start_ns = op_rows[i].start_ns,
		};
		extras[i].address = address_of(op_rows[i].address);
		extras[i].stack = op_rows[i].stack;
	}
	for (size_t i = 0; i < WAITS; i++)
		waits[i] = (struct rec_wait){
			.reason = wait_rows[i].reason,
			.thread = WORKER,
			.ident = recording_intern(&recording, wait_rows[i].recorded),
			.address = address_of(wait_rows[i].address),
			.stack = wait_rows[i].stack,
			.start_ns = wait_rows[i].start_ns,
			.target = wait_rows[i].target_thread == NO_INDEX
					  ? NO_INDEX
					  : OPS + wait_rows[i].target_thread,
		};
	static struct rec_link links[COUNT(link_rows)];
	for (size_t i = 0; i < COUNT(link_rows); i++) {
		links[i] = link_rows[i];
		links[i].thread = WORKER;
	}
	recording.links = links;
	recording.link_count = COUNT(link_rows);
	recording.ops = ops;
	recording.extras = extras;
	recording.op_count = OPS + THREADS;
	recording.waits = waits;
	recording.wait_count = WAITS;
}

static void build(void)
{
	static struct rec_process process;

	sample_begin();
	sample_build("gcc", "server", sample_c, "-g -O2 -falign-functions=1");
	add_module(SERVER, sample_path("server"), BASE);
	add_module(LIBC, "/lib/none/libc.so.6", BASE + 0x200000);
	add_module(GONE, "/nowhere/libgone.so", BASE + 0x400000);
	add_module(PYTHON, "/nowhere/libpython3.11.so.1.0", BASE + 0x600000);
	process = (struct rec_process){ .pid = 100,
					.exe = recording_intern(&recording, "/usr/bin/server") };
	recording.processes = &process;
	recording.process_count = 1;
	add_stacks();
	add_ops_and_waits();
	add_threads();
}

static void run(void)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);

	classify(&recording, symbols, callers, op_name, wait_name);
	callers_free(callers);
	symbols_free(symbols);
}

START_TEST(classes_of_ops)
{
	run();
	ck_assert_str_eq(recording.strings[op_name[_i]], op_rows[_i].expected);
	ck_assert_uint_eq(op_name[_i], recording_intern(&recording, op_rows[_i].expected));
}
END_TEST

START_TEST(classes_of_threads)
{
	run();
	ck_assert_str_eq(recording.strings[op_name[OPS + _i]], thread_rows[_i].expected);
}
END_TEST

/* Another program in the recording; a process of the same one makes no difference. */
START_TEST(each_program_has_a_main_of_its_own)
{
	static const struct {
		const char *other, *expected;
	} rows[] = { { "server", "main" }, { "client", "main (server)" } };
	static struct rec_op ops[OPS + THREADS + 2];
	static struct rec_op_extra extras[OPS + THREADS + 2];
	static uint32_t names[OPS + THREADS + 2];
	struct rec_process processes[2] = { recording.processes[0], { .pid = 200 } };

	memcpy(ops, recording.ops, (OPS + THREADS) * sizeof(ops[0]));
	memcpy(extras, recording.extras, (OPS + THREADS) * sizeof(extras[0]));
	for (uint32_t i = 0; i < 2; i++) {
		const char *name = i ? rows[_i].other : "server";

		processes[i].op = OPS + THREADS + i;
		ops[OPS + THREADS + i] = (struct rec_op){
			.kind = KIND_PROCESS,
			.name = recording_intern(&recording, name),
			.thread = NO_INDEX,
		};
	}
	recording.ops = ops;
	recording.extras = extras;
	recording.op_count += 2;
	recording.processes = processes;
	recording.process_count = 2;
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	classify(&recording, symbols, callers, names, wait_name);
	ck_assert_str_eq(recording.strings[names[OPS + MAIN_THREAD]], rows[_i].expected);
	ck_assert_str_eq(recording.strings[names[OPS + WORKER]], "worker");
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

START_TEST(names_of_waits)
{
	run();
	ck_assert_str_eq(recording.strings[wait_name[_i]], wait_rows[_i].expected);
}
END_TEST

START_TEST(without_threads_nothing_is_renamed)
{
	recording.thread_count = 0;
	for (size_t i = 0; i < recording.op_count; i++)
		recording.ops[i].thread = NO_INDEX;
	for (size_t i = 0; i < WAITS; i++)
		recording.waits[i].thread = NO_INDEX;
	run();
	for (size_t i = 0; i < OPS; i++)
		ck_assert_uint_eq(op_name[i], recording.ops[i].name);
	for (size_t i = 0; i < WAITS; i++)
		ck_assert_uint_eq(wait_name[i], recording.waits[i].ident);
}
END_TEST

START_TEST(without_extras_only_waits_are_renamed)
{
	recording.extras = NULL;
	run();
	for (size_t i = 0; i < OPS; i++)
		ck_assert_uint_eq(op_name[i], recording.ops[i].name);
	ck_assert_str_eq(recording.strings[wait_name[0]], wait_rows[0].expected);
}
END_TEST

START_TEST(sites_of_holds_and_waits)
{
	struct symbols *symbols = symbols_new(&recording, NULL, 0);
	struct callers *callers = callers_new(&recording, symbols, NULL);
	uint32_t sites[COUNT(stack_frames)];

	classify_sites(&recording, callers, sites);
	ck_assert_str_eq(recording.strings[sites[IN_HELPER]], "helper server.c:28");
	ck_assert_str_eq(recording.strings[sites[IN_WORKER]], "worker server.c:27");
	ck_assert_uint_eq(sites[IN_LIBC], 0);
	ck_assert_uint_eq(sites[NO_STACK], 0);
	ck_assert_uint_eq(sites[START_WORKER], 0); /* only of a read */
	callers_free(callers);
	symbols_free(symbols);
}
END_TEST

SUITE()
{
	FIXTURE_ONCE(build, sample_end);
	LOOP(classes_of_ops, 0, OPS);
	LOOP(classes_of_threads, 0, THREADS);
	LOOP(each_program_has_a_main_of_its_own, 0, 2);
	LOOP(names_of_waits, 0, WAITS);
	TEST(without_threads_nothing_is_renamed);
	TEST(without_extras_only_waits_are_renamed);
	TEST(sites_of_holds_and_waits);
}
