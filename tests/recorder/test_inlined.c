/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, code that makes system calls of its own passes for code that makes none. */
#include "inlined.h"

#include <dlfcn.h>
#include <link.h>

#include "modules.h"
#include "recording.h"
#include "suite.h"

#define NOPS "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"

static const struct {
	const char *code;
	size_t bytes;
	uint32_t calls;
} pieces[] = {
#define PIECE(code, calls)                    \
	{                                     \
		code, sizeof(code) - 1, calls \
	}
	/*  0 mov $202,%eax */ PIECE("\xb8\xca\x00\x00\x00\x0f\x05\xc3" NOPS, 1),
	/*  1 mov $1,%rax */ PIECE("\x48\xc7\xc0\x01\x00\x00\x00\x0f\x05\xc3" NOPS, 1),
	/*  2 xor %eax,%eax */ PIECE("\x31\xc0\x0f\x05\xc3" NOPS, 1),
	/*  3 cmp $-4096,%rax */ PIECE(NOPS "\x0f\x05\x48\x3d\x00\xf0\xff\xff", 1),
	/*  4 cmp $-38,%rax */ PIECE(NOPS "\x0f\x05\x48\x83\xf8\xda\x90\x90", 1),
	/*  5 inside another instruction */ PIECE(NOPS "\x48\x8d\x0d\x0f\x05\x00\x00\x90" NOPS, 0),
	/*  6 a number that none has */ PIECE("\xb8\xca\x00\x01\x00\x0f\x05\xc3" NOPS, 0),
	/*  7 too far away */ PIECE("\xb8\xca\x00\x00\x00" NOPS NOPS "\x0f\x05\xc3" NOPS, 0),
	/*  8 two */ PIECE("\xb8\xca\x00\x00\x00\x0f\x05" NOPS "\x31\xc0\x0f\x05\xc3" NOPS, 2),
	/*  9 at the very end */ PIECE("\xb8\xca\x00\x00\x00\x0f\x05", 1),
	/* 10 cut in two */ PIECE("\xb8\xca\x00\x00\x00\x0f", 0),
};

START_TEST(calls_are_known_by_their_company)
{
	struct inlined_tally tally = { 0 };

	inlined_count(&tally, (const uint8_t *)pieces[_i].code, pieces[_i].bytes, 0,
		      pieces[_i].bytes);
	ck_assert_uint_eq(tally.calls, pieces[_i].calls);
}
END_TEST

START_TEST(chance_is_not_reported)
{
	struct inlined_tally chance = { .pairs = 100, .calls = 7 };
	struct inlined_tally calls = { .pairs = 39, .calls = 19 };

	ck_assert_uint_eq(inlined_result(&chance), 0);
	ck_assert_uint_eq(inlined_result(&calls), 19);
}
END_TEST

START_TEST(pieces_add_up)
{
	struct inlined_tally whole = { 0 }, parts = { 0 };
	const uint8_t *code = (const uint8_t *)pieces[8].code;
	size_t bytes = pieces[8].bytes;

	inlined_count(&whole, code, bytes, 0, bytes);
	for (size_t i = 0; i < bytes; i++)
		inlined_count(&parts, code, bytes, i, i + 1);
	ck_assert_uint_eq(parts.calls, whole.calls);
	ck_assert_uint_eq(parts.pairs, whole.pairs);
}
END_TEST

/* Until all modules are done, a second of the clock's after the first. */
static void look_at_everything(void)
{
	uint64_t now_ns = 1;

	ck_assert(!inlined_tick(recorder_arena, now_ns));
	ck_assert_uint_eq(recorder_arena->module_calls[0], INLINED_UNSEEN);
	for (now_ns += 1000000000; inlined_tick(recorder_arena, now_ns);
	     now_ns += INLINED_TICK_MS * UINT64_C(1000000))
		;
}

START_TEST(modules_are_looked_at_one_after_the_other)
{
	void *openmp = dlopen("libgomp.so.1", RTLD_NOW);
	uint32_t of_openmp = INLINED_UNSEEN;

	ck_assert_msg(openmp != NULL, "libgomp.so.1 is missing: it comes with gcc");
	recording_begin();
	look_at_everything();
	for (uint32_t i = 0; i < recorder_arena->module_count; i++) {
		const char *path = modules_at(recorder_arena, i)->path;

		ck_assert_uint_ne(recorder_arena->module_calls[i], INLINED_UNSEEN);
		if (strstr(path, "libgomp"))
			of_openmp = recorder_arena->module_calls[i];
		if (strstr(path, "/libc.so") || strstr(path, "/libm.so"))
			ck_assert_uint_eq(recorder_arena->module_calls[i], INLINED_NONE);
	}
	ck_assert_uint_gt(of_openmp, INLINED_NONE + 10);
	recording_end();
}
END_TEST

SUITE()
{
	EACH(calls_are_known_by_their_company, pieces);
	TEST(chance_is_not_reported);
	TEST(pieces_add_up);
	TEST(modules_are_looked_at_one_after_the_other);
}
