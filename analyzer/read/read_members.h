/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays and objects of a header, step by step or by a table of their members.
 *
 * Only the parts of the reader that read headers include this. One thread.
 */
#ifndef WCPROF_READ_MEMBERS_H
#define WCPROF_READ_MEMBERS_H

#include "base/json.h"
#include "reading.h"

/* Steps over arrays and objects; false at the end or after an error, which then is in the json. */
struct walk {
	struct json *json;
	bool is_first;
	struct json_text name;
};

static inline struct walk walk_begin(struct json *json)
{
	return (struct walk){ .json = json, .is_first = true };
}

static inline bool walk_element(struct walk *walk)
{
	return json_element(walk->json, &walk->is_first);
}

static inline bool walk_member(struct walk *walk)
{
	return json_member(walk->json, &walk->is_first, &walk->name);
}

static inline bool walk_is_name(const struct walk *walk, const char *name)
{
	return strncmp(walk->name.bytes, name, walk->name.length) == 0 &&
	       name[walk->name.length] == '\0';
}

/* A member of an object that is a number or a string. */
struct member {
	const char *name;
	bool is_text;
	size_t offset; /* of a uint64_t, or of a uint32_t string id for text */
};

/* Rows of keys.def as members of a struct; those of other types are read elsewhere, or not. */
#define MEMBER_NUMBER(object, name, key) { key, false, offsetof(object, name) },
#define MEMBER_TEXT(object, name, key)   { key, true, offsetof(object, name) },
#define MEMBER_PART(object, name, key)
#define MEMBER_UNREAD(object, name, key)

/* An object by its table of `count` members; others are passed over. */
bool read_members(struct reading *reading, struct json *json, const struct member *members,
		  size_t count, void *object);

#endif
