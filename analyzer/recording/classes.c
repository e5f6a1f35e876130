/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of ops, by kind and name.
 *
 * An open-addressed table of class indexes, at most half full, keyed by kind and name. It lives
 * only while the table of classes is built. One thread.
 */
#include "classes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

enum { SLOTS_FIRST = 256 }; /* a power of two */

struct index {
	struct class_table *table;
	size_t class_room;
	uint32_t *slots;   /* class index, NO_INDEX = free */
	size_t slot_count; /* a power of two, more than twice table->count */
};

static size_t class_slot(const struct index *index, uint32_t name, uint16_t kind)
{
	assert(index->slot_count > index->table->count);
	uint64_t hash = (((uint64_t)kind << 32) | name) * 0x9e3779b97f4a7c15ull;
	size_t slot = (hash >> 32) & (index->slot_count - 1);
	for (;; slot = (slot + 1) & (index->slot_count - 1)) {
		uint32_t at = index->slots[slot];
		if (at == NO_INDEX)
			return slot;
		if (index->table->classes[at].name == name &&
		    index->table->classes[at].kind == kind)
			return slot;
	}
}

static void index_resize(struct index *index, size_t slot_count)
{
	free(index->slots);
	index->slot_count = slot_count;
	index->slots = memory_new(slot_count, sizeof(*index->slots));
	memset(index->slots, 0xff, slot_count * sizeof(*index->slots));
	for (uint32_t i = 0; i < index->table->count; i++) {
		const struct class *class = &index->table->classes[i];
		index->slots[class_slot(index, class->name, class->kind)] = i;
	}
}

static uint32_t class_of(struct index *index, uint16_t kind, uint8_t work, uint32_t name)
{
	struct class_table *table = index->table;
	size_t slot = class_slot(index, name, kind);
	if (index->slots[slot] != NO_INDEX)
		return index->slots[slot];
	table->classes = memory_grow(table->classes, &index->class_room, (size_t)table->count + 1,
				     sizeof(*table->classes));
	table->classes[table->count] = (struct class){ .name = name, .kind = kind, .work = work };
	index->slots[slot] = table->count++;
	if (2 * (size_t)table->count >= index->slot_count)
		index_resize(index, 2 * index->slot_count);
	return table->count - 1;
}

void class_table_build(struct class_table *table, const struct recording *recording,
		       const uint32_t *op_name)
{
	assert(recording->op_count < NO_INDEX);
	uint32_t op_count = (uint32_t)recording->op_count;
	*table = (struct class_table){ 0 };
	struct index index = { .table = table };
	index_resize(&index, SLOTS_FIRST);
	table->of_op = memory_new(op_count, sizeof(*table->of_op));
	for (uint32_t i = 0; i < op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		bool is_timer = recording->extras && recording->extras[i].timer;
		table->of_op[i] = class_of(&index, is_timer ? KIND_SLEEP : op->kind, op->work,
					   op_name ? op_name[i] : op->name);
		table->classes[table->of_op[i]].op_count++;
	}
	free(index.slots);
}

void class_table_free(struct class_table *table)
{
	free(table->classes);
	free(table->of_op);
	*table = (struct class_table){ 0 };
}
