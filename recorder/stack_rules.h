/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rules of addresses seen before, for all threads.
 */
#ifndef WCPROF_STACK_RULES_H
#define WCPROF_STACK_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

enum { RULE_WORDS = sizeof(struct unwind_rule) / sizeof(uint64_t) };

/* A rule as it is copied: word by word, and used from there, which the processor forwards from its
 * stores. */
union rule_copy {
	uint64_t words[RULE_WORDS];
	struct unwind_rule rule;
};

/* The rule at an address; learns it if need be. False: it cannot be known at the moment. */
bool stack_rule_find(uint64_t pc, union rule_copy *) HIDDEN;

/* Code was unloaded: all rules are void. */
void stack_rules_forget(void) HIDDEN;

#endif
