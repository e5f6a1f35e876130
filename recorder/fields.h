/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a record that are something else in each kind of record, `fd` and `count`: see struct
 * record.
 *
 * One function for each meaning; it may be asked of a record of its kind only. Written by the
 * record's thread; a reader on another thread has a copy.
 */
#ifndef WCPROF_FIELDS_H
#define WCPROF_FIELDS_H

#include <assert.h>
#include <stdbool.h>

#include "format.h"
#include "probe_code.h"

static inline bool field_is_hold(const struct record *record)
{
	return record->type == RECORD_OP && record->what == KIND_HOLD;
}

/* Of an op that has a descriptor; -1 = none. */
static inline int32_t field_descriptor(const struct record *record)
{
	bool is_other = record->what == KIND_HOLD || record->what == KIND_THREAD ||
			record->what == KIND_OP_USER;

	assert(record->type == RECORD_OP);
	return is_other ? -1 : record->fd;
}

/* The `count` of an io that read a request of a known kind. The kind is the id of a string. The
 * bytes are those of the first request, if more were read, else 0. */
static inline uint32_t field_request(uint32_t kind, uint64_t bytes)
{
	return kind | (bytes <= UINT16_MAX ? (uint32_t)bytes << 16 : 0);
}

static inline uint32_t field_request_kind(const struct record *record)
{
	assert(record->what == KIND_IO && record->flags & RECORD_PEEKED);
	return record->count & UINT16_MAX;
}

/* 0 = it read one alone, or it is not known. */
static inline uint32_t field_request_bytes(const struct record *record)
{
	assert(record->what == KIND_IO && record->flags & RECORD_PEEKED);
	return record->count >> 16;
}

/* Of a thread's op: its weight (weight.h), 0 = not known. */
static inline uint32_t field_weight(const struct record *record)
{
	assert(record->type == RECORD_OP && record->what == KIND_THREAD);
	return record->fd > 0 ? (uint32_t)record->fd : 0;
}

/* Of a hold that has ended: how long its mutex was waited for at the end of a condition's wait. */
static inline uint64_t field_relock_ticks(const struct record *record)
{
	assert(field_is_hold(record) && record->end != 0);
	return record->fd > 0 ? (uint64_t)record->fd * RELOCK_TICKS : 0;
}

/* Of a wait: the kernel's number of the thread that held it when it began; 0 = not known. */
static inline uint32_t field_holder(const struct record *record)
{
	assert(record->type == RECORD_WAIT);
	return record->fd > 0 ? (uint32_t)record->fd : 0;
}

/* An op of the program's that it has not declared is the call of a probed function. */
static inline bool field_is_probed(const struct record *record)
{
	return record->type == RECORD_OP && record->what == KIND_OP_USER &&
	       !(record->flags & RECORD_ANNOTATED);
}

/*
 * The call of a probed function has up to two values in `value` and `count`, their names in `ident`
 * and `fd`. Their types are in `flags`, beside FIELD_CHOSEN. The second is no real number. Further
 * values are links.
 *
 * Of one that has ended: the name of a value; 0 = it has none.
 */
static inline uint32_t field_value_name(const struct record *record, bool is_second)
{
	if (!field_is_probed(record))
		return 0;
	if (is_second)
		return record->fd > 0 ? (uint32_t)record->fd : 0;
	return record->ident;
}

/* Of its flags: the type of the first value, and by how many bits that of the second is shifted. */
enum { FIELD_TYPE = 7, FIELD_SECOND = 6 };
/* Also of one that goes on: other calls of its function are left out. */
enum { FIELD_CHOSEN = 32 };

/* These where it has a name. */
static inline enum probe_type field_value_type(const struct record *record, bool is_second)
{
	return (enum probe_type)(record->flags >> (is_second ? FIELD_SECOND : 0) & FIELD_TYPE);
}

static inline uint64_t field_value(const struct record *record, bool is_second)
{
	if (!is_second)
		return record->value;
	return field_value_type(record, true) == PROBE_SIGNED
		       ? (uint64_t)(int64_t)(int32_t)record->count
		       : record->count;
}

/* Of a hold that goes on: the index of its watch; < 0 = none. */
static inline int32_t field_watch(const struct record *record)
{
	assert(field_is_hold(record));
	return record->fd;
}

/* Of a hold that goes on: whether its lock was released, and its record comes next. */
static inline bool field_is_released(const struct record *record)
{
	return field_watch(record) == HOLD_RELEASED;
}

/* Of an attachment: the index of its op among the handles. */
static inline uint32_t field_handle(const struct record *record)
{
	assert(record->type == RECORD_ATTACHED);
	return (uint32_t)record->fd;
}

#endif
