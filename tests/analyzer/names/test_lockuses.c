/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock is called after a place where nobody waits for it, or after a wrapper. */
#include "names/lockuses.h"

#include "sketch.h"
#include "suite.h"

enum { POP = 1, PUSH, WRAPPER, FUNCTIONS };
enum { KIND_A = 7, KIND_B, KIND_C, KIND_D };

static const char *const functions[FUNCTIONS] = { "", "pop", "push", "my_mutex_lock" };

/* The file's names come with the recording. Stack 1 is pop(), 2 push(), 3 the wrapper called by
 * push(), 4 the wrapper alone. */
struct named {
	struct sketch sketch;
	struct rec_module module;
	struct rec_naming naming;
	struct rec_named_frame frames[FUNCTIONS];
	struct rec_named_code codes[FUNCTIONS];
	struct rec_stack stacks[5];
	struct rec_frame stack_frames[5];
};

static void named_begin(struct named *of)
{
	static const uint32_t of_frame[5] = { POP, PUSH, WRAPPER, PUSH, WRAPPER };
	static const struct rec_stack stacks[5] = {
		{ 0, 0 }, { 0, 1 }, { 1, 1 }, { 2, 2 }, { 4, 1 }
	};
	struct recording *rec = &of->sketch.rec;

	sketch_begin(&of->sketch);
	uint32_t path = sketch_string(&of->sketch, "/nowhere/app");
	of->module = (struct rec_module){ .path = path, .size = 0x10000 };
	rec->modules = &of->module;
	rec->module_count = 1;
	of->naming = (struct rec_naming){ .path = path };
	rec->namings = &of->naming;
	rec->naming_count = 1;
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		of->frames[i].function = sketch_string(&of->sketch, functions[i]);
		of->codes[i] = (struct rec_named_code){ .offset = 0x100 * i,
							.first_frame = i,
							.frame_count = 1,
							.is_return_address = true };
	}
	rec->named_frames = of->frames;
	rec->named_frame_count = FUNCTIONS;
	rec->named_codes = of->codes + 1;
	rec->named_code_count = FUNCTIONS - 1;
	memcpy(of->stacks, stacks, sizeof(stacks));
	for (size_t i = 0; i < 5; i++)
		of->stack_frames[i] = (struct rec_frame){ 0, 0x100 * of_frame[i] };
	rec->stacks = of->stacks;
	rec->stack_count = 5;
	rec->frames = of->stack_frames;
	rec->frame_count = 5;
	sketch_thread(&of->sketch, "main", 0, 100);
}

START_TEST(waits_tell_and_then_holds)
{
	static const struct {
		uint32_t kind, stack;
		uint64_t waited_ns, held_ns;
	} uses[] = {
		{ KIND_B, 2, 10, 0 }, { KIND_A, 1, 0, 900 }, { KIND_A, 2, 5, 0 },
		{ KIND_A, 1, 3, 0 },  { KIND_A, 1, 3, 0 },   { KIND_B, 1, 9, 0 },
		{ KIND_C, 1, 0, 4 },  { KIND_C, 2, 0, 5 },   { KIND_D, 0, 5, 0 },
	};
	struct named of = { 0 };
	struct lock_uses lock_uses = { 0 };

	named_begin(&of);
	struct symbols *symbols = symbols_new(&of.sketch.rec, NULL, 0);
	struct callers *callers = callers_new(&of.sketch.rec, symbols, NULL);
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		lock_uses_add(&lock_uses, &of.sketch.rec, callers, uses[i].kind, uses[i].stack,
			      uses[i].waited_ns, uses[i].held_ns);
	lock_uses_count(&lock_uses);
	const char **strings = of.sketch.rec.strings;
	ck_assert_str_eq(strings[lock_uses_most(&lock_uses, KIND_A)], "pop()+0x0");
	ck_assert_str_eq(strings[lock_uses_most(&lock_uses, KIND_B)], "push()+0x0");
	ck_assert_str_eq(strings[lock_uses_most(&lock_uses, KIND_C)], "push()+0x0");
	ck_assert_uint_eq(lock_uses_most(&lock_uses, KIND_D), 0);
	ck_assert_uint_eq(lock_uses_most(&lock_uses, 1000), 0);
	lock_uses_free(&lock_uses);
	callers_free(callers);
	symbols_free(symbols);
	sketch_free(&of.sketch);
}
END_TEST

START_TEST(a_wrapper_is_passed_over)
{
	static const char *const expected[] = { [3] = "push()+0x0", [4] = "my_mutex_lock()+0x0" };
	struct named of = { 0 };
	struct lock_uses lock_uses = { 0 };

	named_begin(&of);
	struct symbols *symbols = symbols_new(&of.sketch.rec, NULL, 0);
	struct callers *callers = callers_new(&of.sketch.rec, symbols, NULL);
	lock_uses_add(&lock_uses, &of.sketch.rec, callers, KIND_A, (uint32_t)_i, 1, 0);
	lock_uses_count(&lock_uses);
	ck_assert_str_eq(of.sketch.rec.strings[lock_uses_most(&lock_uses, KIND_A)], expected[_i]);
	lock_uses_free(&lock_uses);
	callers_free(callers);
	symbols_free(symbols);
	sketch_free(&of.sketch);
}
END_TEST

SUITE()
{
	TEST(waits_tell_and_then_holds);
	LOOP(a_wrapper_is_passed_over, 3, 5);
}
