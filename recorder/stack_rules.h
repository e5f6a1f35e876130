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

/* Before recording begins: maps the rules. False: there is no memory, nothing is ever found. */
bool stack_rules_start(void) HIDDEN;

/* The rule at an address; learns it if need be, on that borrowed stack (unwind.h). False: it cannot
 * be known at the moment. */
bool stack_rule_find(uint64_t pc, union rule_copy *, void *borrowed) HIDDEN;

/*
 * Whether a walk goes on by the rule of its frame number `count`. Code without tables is believed
 * to keep frame pointers if these lead back behind a call in code that has tables. Until then
 * `*sure`, else 0, says how many frames are certain, and a walk that ends has no more.
 */
static inline bool stack_rule_admits(const struct unwind_rule *rule, uint32_t count, uint32_t *sure)
{
	if (rule->flags & UNWIND_TRIAL) {
		*sure = *sure ? *sure : count;
		return true;
	}
	if (*sure && !rule->follows_call)
		return false;
	*sure = 0;
	return true;
}

/* Code was unloaded: all rules are void. */
void stack_rules_forget(void) HIDDEN;

#endif
