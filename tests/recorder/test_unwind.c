/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a frame's caller is looked for in the wrong place, or not where it could be found.
 *
 * Each row is a function in assembly whose unwind table says one thing, and the rule that this is.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind.h"
#include "suite.h"

/* A function named case_N with these directives at its start. */
#define FUNCTION(number, directives)                         \
	"case_" #number ":\n\t.cfi_startproc\n\t" directives \
	"\n\tnop\n\tnop\n\tnop\n\t.cfi_endproc\n"
#define BARE_FUNCTION(number) "case_" #number ":\n\tnop\n\tnop\n\tnop\n"

__asm__(".text\n" FUNCTION(0, "") FUNCTION(
	1,
	".cfi_def_cfa_offset 48; .cfi_offset rbp, -16; .cfi_offset rbx, -24; .cfi_offset r15, -32")
		FUNCTION(2, ".cfi_def_cfa rbp, 16; .cfi_offset rbp, -16")
			FUNCTION(3, ".cfi_def_cfa rbx, 64; .cfi_offset rbx, -56")
	/* CFA = word at rbp - 8; rbp at rbp: a realigned frame */
	FUNCTION(4, ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06; .cfi_escape 0x10, 6, 2, 0x76, 0x00")
	/* CFA = word at rsp + 160, + 16; return address at rsp + 168: a signal frame */
	FUNCTION(5, ".cfi_signal_frame; .cfi_escape 0x0f, 6, 0x77, 0xa0, 0x01, 0x06, 0x23, 0x10;"
		    ".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01") FUNCTION(6, ".cfi_undefined rip")
		BARE_FUNCTION(7)
	/* CFA = (rsp + 15) & -16: not a sum */
	FUNCTION(8, ".cfi_escape 0x0f, 5, 0x77, 0x0f, 0x09, 0xf0, 0x1a")
		FUNCTION(9, ".cfi_def_cfa r11, 8") FUNCTION(10, ".cfi_register rip, rdx")
			FUNCTION(11, ".cfi_register rbx, r9") FUNCTION(12, ".cfi_undefined rbx")
	/* far away: CFA = rsp + 2^33 */
	FUNCTION(13, ".cfi_escape 0x0f, 6, 0x77, 0x80, 0x80, 0x80, 0x80, 0x20")
	/* nonsense: an operation that is none */
	FUNCTION(14, ".cfi_escape 0x0f, 1, 0x01"));

#define CODE extern __attribute__((visibility("hidden"))) const char
CODE case_0[], case_1[], case_2[], case_3[], case_4[], case_5[], case_6[], case_7[];
CODE case_8[], case_9[], case_10[], case_11[], case_12[], case_13[], case_14[];

#define FLAGS(wanted)    .rule.flags = (wanted)
#define CFA(reg, offset) .rule.cfa_register = UNWIND_##reg, .rule.cfa_offset = (offset)
#define SAVED(reg, near, offset) \
	.rule.where[UNWIND_##reg] = UNWIND_##near, .rule.at[UNWIND_##reg] = (offset)

static const struct row {
	const char *code;
	struct unwind_rule rule;
} rows[] = {
	/*  0 */ { case_0, FLAGS(UNWIND_PLAIN), CFA(SP, 8), SAVED(PC, NEAR_CFA, -8) },
	/*  1 */
	{ case_1, FLAGS(UNWIND_PLAIN), CFA(SP, 48), SAVED(PC, NEAR_CFA, -8),
	  SAVED(RBP, NEAR_CFA, -16), SAVED(RBX, NEAR_CFA, -24), SAVED(R15, NEAR_CFA, -32),
	  .rule.saved = 1 << UNWIND_RBP | 1 << UNWIND_RBX | 1 << UNWIND_R15 },
	/*  2 */
	{ case_2, FLAGS(UNWIND_PLAIN), CFA(RBP, 16), SAVED(PC, NEAR_CFA, -8),
	  SAVED(RBP, NEAR_CFA, -16), .rule.saved = 1 << UNWIND_RBP },
	/*  3 */
	{ case_3, FLAGS(UNWIND_PLAIN), CFA(RBX, 64), SAVED(PC, NEAR_CFA, -8),
	  SAVED(RBX, NEAR_CFA, -56), .rule.saved = 1 << UNWIND_RBX },
	/*  4 */
	{ case_4, FLAGS(UNWIND_DEREF), CFA(RBP, -8), SAVED(PC, NEAR_CFA, -8),
	  SAVED(RBP, NEAR_RBP, 0) },
	/*  5 */
	{ case_5, FLAGS(UNWIND_DEREF | UNWIND_SIGNAL), CFA(SP, 160), .rule.cfa_after = 16,
	  SAVED(PC, NEAR_SP, 168) },
	/*  6 */ { case_6, FLAGS(UNWIND_END) },
	/*  7 */
	{ case_7, FLAGS(UNWIND_TRIAL), CFA(RBP, 16), SAVED(PC, NEAR_CFA, -8),
	  SAVED(RBP, NEAR_CFA, -16), SAVED(RBX, LOST, 0), SAVED(R12, LOST, 0), SAVED(R13, LOST, 0),
	  SAVED(R14, LOST, 0), SAVED(R15, LOST, 0) },
	/*  8 */ { case_8, FLAGS(UNWIND_END) },
	/*  9 */ { case_9, FLAGS(UNWIND_END) },
	/* 10 */ { case_10, FLAGS(UNWIND_END) },
	/* 11 */ { case_11, FLAGS(0), CFA(SP, 8), SAVED(PC, NEAR_CFA, -8), SAVED(RBX, LOST, 0) },
	/* 12 */ { case_12, FLAGS(0), CFA(SP, 8), SAVED(PC, NEAR_CFA, -8), SAVED(RBX, LOST, 0) },
	/* 13 */ { case_13, FLAGS(UNWIND_END) },
	/* 14 */ { case_14, FLAGS(UNWIND_END) },
};

static void ck_assert_rule(const struct unwind_rule *rule, const struct unwind_rule *expected)
{
	ck_assert_uint_eq(rule->flags, expected->flags);
	ck_assert_uint_eq(rule->cfa_register, expected->cfa_register);
	ck_assert_int_eq(rule->cfa_offset, expected->cfa_offset);
	ck_assert_int_eq(rule->cfa_after, expected->cfa_after);
	ck_assert_uint_eq(rule->saved, expected->saved);
	for (unsigned i = 0; i < UNWIND_SAVED_COUNT; i++) {
		ck_assert_uint_eq(rule->where[i], expected->where[i]);
		ck_assert_int_eq(rule->at[i], expected->at[i]);
	}
}

START_TEST(test_rules)
{
	struct unwind_rule rule;

	ck_assert(unwind_learn((uint64_t)(uintptr_t)rows[_i].code + 1, &rule, NULL));
	ck_assert_rule(&rule, &rows[_i].rule);
}
END_TEST

START_TEST(test_no_code)
{
	static const uint64_t nowhere[] = { 0,         1, 0x1000, 0x7fffffffffff, UINT64_C(1) << 56,
					    UINT64_MAX };
	struct unwind_rule rule;

	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		ck_assert(unwind_learn(nowhere[i], &rule, NULL));
		ck_assert_uint_eq(rule.flags, UNWIND_TRIAL);
		ck_assert_uint_eq(rule.follows_call, 0);
	}
}
END_TEST

START_TEST(test_not_before_warm_up)
{
	struct unwind_rule rule;

	ck_assert(!unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
	unwind_warm_up();
	ck_assert(unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
}
END_TEST

/* Between prepare and its end nobody is in libunwind; nested and concurrent forks count. */
START_TEST(test_not_during_fork)
{
	struct unwind_rule rule;

	unwind_fork_prepare();
	unwind_fork_prepare();
	ck_assert(!unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
	unwind_fork_parent();
	ck_assert(!unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
	unwind_fork_parent();
	ck_assert(unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
	unwind_fork_prepare();
	unwind_fork_child();
	ck_assert(unwind_learn((uint64_t)(uintptr_t)case_0 + 1, &rule, NULL));
}
END_TEST

static void set_up(void)
{
	unwind_warm_up();
}

SUITE()
{
	TEST(test_not_before_warm_up);
	FIXTURE(set_up, NULL);
	EACH(test_rules, rows);
	TEST(test_no_code);
	TEST(test_not_during_fork);
}
