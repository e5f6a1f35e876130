/* SPDX-License-Identifier: Apache-2.0 */
/* Finds calls for locks on files, and what closes these; filelocks_parts.h has the contract. */
#include "filelocks_parts.h"

#include "base/bound.h"
#include "format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each machine numbers its devices, by less than that. */
enum { DEVICE_CLOCK_SHIFT = 48 };

static bool parse_mode(struct file_call *call, const char *word)
{
	static const char *const words[] = { "none ", "read ", "write " };

	call->is_try = strncmp(word, "try-", 4) == 0;
	word += call->is_try ? 4 : 0;
	for (int i = 0; i < 3; i++) {
		if (strncmp(word, words[i], strlen(words[i])) != 0)
			continue;
		uint64_t bytes;
		call->mode = (uint8_t)i;
		word += strlen(words[i]);
		if (sscanf(word, "%" SCNu64 "+%" SCNu64 " of %" SCNu64 ":%" SCNu64, &call->from,
			   &bytes, &call->device, &call->inode) != 4)
			return false;
		call->to =
			bytes && bytes < UINT64_MAX - call->from ? call->from + bytes : UINT64_MAX;
		return call->from < call->to;
	}
	return false;
}

/* As the recorder names a call: filelocks.h there. */
static bool parse(struct file_call *call, const char *text)
{
	static const struct {
		const char *word;
		uint8_t space;
		bool is_files;
	} kinds[] = { { "file-lock ", 0, false },
		      { "open-lock ", 0, true },
		      { "flock ", 1, true } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(text, kinds[i].word, strlen(kinds[i].word)) != 0)
			continue;
		call->space = kinds[i].space;
		call->is_files = kinds[i].is_files;
		return parse_mode(call, text + strlen(kinds[i].word));
	}
	return false;
}

static void call_add(struct file_calls *calls, struct file_call call)
{
	calls->calls = memory_grow(calls->calls, &calls->capacity, calls->count + 1,
				   sizeof(*calls->calls));
	calls->calls[calls->count++] = call;
}

static struct file_call call_of(const struct recording *rec, uint32_t op)
{
	return (struct file_call){ .op = op,
				   .process = rec->threads[rec->ops[op].thread].process,
				   .fd = rec->extras[op].fd,
				   .has_failed = rec->ops[op].outcome == OUTCOME_ERROR };
}

static bool is_call(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_IO && rec->ops[op].thread != NO_INDEX &&
	       !rec->extras[op].open;
}

static void find_locks(struct file_calls *calls, const struct recording *rec)
{
	for (uint32_t i = 0; i < rec->op_count; i++) {
		if (!is_call(rec, i) || !rec->extras[i].other_ident)
			continue;
		struct file_call call = call_of(rec, i);
		if (!parse(&call, rec->strings[rec->extras[i].other_ident]))
			continue;
		call.device |= (uint64_t)rec->processes[call.process].clock << DEVICE_CLOCK_SHIFT;
		call.at_ns = call.mode == MODE_NONE ? rec->ops[i].start_ns : rec->ops[i].end_ns;
		call_add(calls, call);
	}
}

struct file_name {
	uint32_t ident;
	uint32_t call;
};

static int compare_names(const void *left, const void *right)
{
	const struct file_name *a = left, *b = right;

	if (a->ident != b->ident)
		return a->ident < b->ident ? -1 : 1;
	return (a->call > b->call) - (a->call < b->call);
}

/* Closing a file, once for each space of locks that any call has on a file of that name. */
static void add_close(struct file_calls *calls, const struct recording *rec,
		      const struct file_name *names, size_t count, uint32_t op)
{
	uint32_t ident = rec->ops[op].ident;
	const struct file_name first = { .ident = ident };
	size_t at = bound_lower(&first, names, count, sizeof(first), compare_names);
	struct file_call call = call_of(rec, op);
	call.to = UINT64_MAX;
	call.at_ns = rec->ops[op].start_ns;
	call.is_close = true;
	for (uint64_t inode = 0; at < count && names[at].ident == ident; at++) {
		const struct file_call *known = &calls->calls[names[at].call];
		if (known->inode == inode && known->space == call.space)
			continue;
		call.space = known->space;
		call.device = known->device;
		call.inode = inode = known->inode;
		call_add(calls, call);
	}
}

static void find_closes(struct file_calls *calls, const struct recording *rec)
{
	size_t count = calls->count;
	struct file_name *names = memory_new(count, sizeof(*names));

	for (uint32_t i = 0; i < count; i++)
		names[i] = (struct file_name){ rec->ops[calls->calls[i].op].ident, i };
	qsort(names, count, sizeof(*names), compare_names);
	for (uint32_t i = 0; i < rec->op_count; i++)
		if (is_call(rec, i) && rec->ops[i].ident &&
		    strcmp(rec->strings[rec->ops[i].name], "close") == 0)
			add_close(calls, rec, names, count, i);
	free(names);
}

int file_calls_compare(const struct file_call *a, const struct file_call *b)
{
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->inode > b->inode) - (a->inode < b->inode);
}

static int compare_calls(const void *left, const void *right)
{
	const struct file_call *a = left, *b = right;
	int files = file_calls_compare(a, b);

	if (files)
		return files;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->mode > b->mode) - (a->mode < b->mode); /* unlocks first */
}

void file_calls_find(struct file_calls *calls, const struct recording *rec)
{
	find_locks(calls, rec);
	if (!calls->count)
		return;
	find_closes(calls, rec);
	qsort(calls->calls, calls->count, sizeof(*calls->calls), compare_calls);
}
