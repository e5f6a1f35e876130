/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rules of addresses seen before: a table of fixed size, shared by all threads
 * (sequence.h).
 *
 * Entries of an older generation are absent. A full set loses one of its entries by chance: it is
 * learnt again. Never here: allocation, locks, waiting.
 */
#include "stack_rules.h"

#include "mapping.h"
#include "sequence.h"

#include "in_target.h"

enum {
	RULES_MAX =
		1 << 14, /* return addresses below a large program's blocking calls: some 1000 */
	RULE_WAYS = 4
};

/* Entries begin as 0, which is no generation. Relaxed: see stack_forget_all(). */
static uint32_t rule_generation = 1;

struct rule_entry {
	_Alignas(64) uint32_t sequence;
	uint32_t generation;
	uint64_t pc;
	uint64_t words[RULE_WORDS]; /* a struct unwind_rule */
};
_Static_assert(sizeof(struct rule_entry) == 64, "a rule is one cache line");

static void *rules; /* struct rule_entry [RULES_MAX] */

static struct rule_entry *rule_set(uint64_t pc)
{
	struct rule_entry *first = load_relaxed(&rules);

	return first + (sequence_scatter(pc) >> 20) % (RULES_MAX / RULE_WAYS) * RULE_WAYS;
}

static bool rule_read(const struct rule_entry *entry, uint64_t pc, uint32_t generation,
		      union rule_copy *copy)
{
	uint32_t sequence = load_acquire(&entry->sequence);

	if (load_acquire(&entry->pc) != pc || load_acquire(&entry->generation) != generation)
		return false;
	for (unsigned i = 0; i < RULE_WORDS; i++)
		copy->words[i] = load_acquire(&entry->words[i]);
	return sequence_is(&entry->sequence, sequence);
}

/* The entry to write: one of no use if there is any, else one by chance. */
static struct rule_entry *rule_victim(uint64_t pc, uint32_t generation)
{
	struct rule_entry *set = rule_set(pc);

	for (unsigned i = 0; i < RULE_WAYS; i++)
		if (load_relaxed(&set[i].generation) != generation)
			return &set[i];
	return &set[pc % RULE_WAYS];
}

static void rule_remember(uint64_t pc, uint32_t generation, const union rule_copy *copy)
{
	struct rule_entry *entry = rule_victim(pc, generation);

	if (!sequence_claim(&entry->sequence))
		return;
	store_release(&entry->pc, pc);
	store_release(&entry->generation, generation);
	for (unsigned i = 0; i < RULE_WORDS; i++)
		store_release(&entry->words[i], copy->words[i]);
	sequence_release(&entry->sequence);
}

bool stack_rule_find(uint64_t pc, union rule_copy *copy, void *borrowed)
{
	uint32_t generation = load_relaxed(&rule_generation);
	const struct rule_entry *set = rule_set(pc);

	for (unsigned i = 0; i < RULE_WAYS; i++)
		if (rule_read(&set[i], pc, generation, copy))
			return true;
	if (!unwind_learn(pc, &copy->rule, borrowed))
		return false;
	rule_remember(pc, generation, copy);
	return true;
}

bool stack_rules_start(void)
{
	return mapping_ensure(&rules, RULES_MAX * sizeof(struct rule_entry));
}

void stack_rules_forget(void)
{
	add_relaxed(&rule_generation, 1);
}
