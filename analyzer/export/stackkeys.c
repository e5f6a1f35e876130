/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a with 64 bits over a stack's frames, the innermost first.
 *
 * A frame is its module's path, a zero byte, and its distance from where the module is mapped, as 8
 * bytes, the lowest first. A frame outside all modules is "?" with distance 0, and one of an
 * interpreted program is its text with that. Of a name they are its bytes. One thread.
 */
#include "stackkeys.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "format.h"

static uint64_t hash_path(uint64_t hash, const char *path)
{
	return hash_bytes(hash, path, strlen(path) + 1);
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (int shift = 0; shift < 64; shift += 8)
		hash = (hash ^ (number >> shift & 0xff)) * HASH_PRIME;
	return hash;
}

static uint64_t hash_frame(uint64_t hash, const struct recording *recording, struct rec_frame frame)
{
	const struct rec_module *module =
		frame.module == NO_INDEX ? NULL : &recording->modules[frame.module];
	const char *text = rec_frame_text(recording, frame);

	if (text)
		return hash_number(hash_path(hash, text), 0);
	if (!module || rec_module_is_jit(recording, module))
		return hash_number(hash_path(hash, "?"), 0);
	return hash_number(hash_path(hash, recording->strings[module->path]),
			   frame.offset + module->base - module->start);
}

uint64_t stack_key(const struct recording *recording, uint32_t stack)
{
	const struct rec_stack *frames = &recording->stacks[stack];
	uint64_t hash = HASH_START;

	for (uint32_t i = 0; i < frames->frame_count; i++)
		hash = hash_frame(hash, recording, recording->frames[frames->first_frame + i]);
	return hash ? hash : 1;
}

static int compare_keys(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t stack_key_of_frame(const struct recording *recording, struct rec_frame frame)
{
	uint64_t hash = hash_frame(HASH_START, recording, frame);

	return hash ? hash : 1;
}

uint64_t stack_key_of_name(const char *name)
{
	uint64_t hash = HASH_START;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * HASH_PRIME;
	return hash ? hash : 1;
}

static bool is_declared(const struct rec_op *op)
{
	return op->kind == KIND_OP_USER;
}

/* The keys of things by their number, 0 = none, become indexes. */
static uint32_t *indexes_of(const struct stack_keys *keys, const uint64_t *of, size_t count)
{
	uint32_t *indexes = memory_new(count, sizeof(*indexes));

	for (size_t i = 0; i < count; i++) {
		const uint64_t *found = of[i] && keys->count > 0
						? bsearch(&of[i], keys->keys, keys->count,
							  sizeof(*keys->keys), compare_keys)
						: NULL;

		indexes[i] = found ? (uint32_t)(found - keys->keys) : NO_INDEX;
	}
	return indexes;
}

static void add_keys(struct stack_keys *keys, const uint64_t *of, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (of[i])
			keys->keys[keys->count++] = of[i];
}

static void make_unique(struct stack_keys *keys)
{
	size_t all = keys->count;

	keys->count = 0;
	if (all > 1)
		qsort(keys->keys, all, sizeof(*keys->keys), compare_keys);
	for (size_t i = 0; i < all; i++)
		if (keys->count == 0 || keys->keys[keys->count - 1] != keys->keys[i])
			keys->keys[keys->count++] = keys->keys[i];
}

void stack_keys_build(struct stack_keys *keys, const struct recording *recording)
{
	size_t stacks = recording->stack_count, strings = recording->string_count;
	uint64_t *of_stack = memory_new(stacks, sizeof(*of_stack));
	uint64_t *of_name = memory_new(strings, sizeof(*of_name));

	for (uint32_t i = 1; i < stacks; i++)
		of_stack[i] = stack_key(recording, i);
	for (size_t i = 0; i < recording->op_count; i++) {
		uint32_t name = recording->ops[i].name;

		if (is_declared(&recording->ops[i]) && !of_name[name])
			of_name[name] = stack_key_of_name(recording->strings[name]);
	}
	*keys = (struct stack_keys){ .keys = memory_new(stacks + strings, sizeof(*keys->keys)) };
	add_keys(keys, of_stack, stacks);
	add_keys(keys, of_name, strings);
	make_unique(keys);
	keys->of_stack = indexes_of(keys, of_stack, stacks);
	keys->of_name = indexes_of(keys, of_name, strings);
	free(of_stack);
	free(of_name);
}

uint32_t stack_keys_of_op(const struct stack_keys *keys, const struct recording *recording,
			  size_t op)
{
	if (is_declared(&recording->ops[op]))
		return keys->of_name[recording->ops[op].name];
	if (!recording->extras || !recording->extras[op].stack)
		return NO_INDEX;
	return keys->of_stack[recording->extras[op].stack];
}

void stack_keys_free(struct stack_keys *keys)
{
	free(keys->keys);
	free(keys->of_stack);
	free(keys->of_name);
	*keys = (struct stack_keys){ 0 };
}
