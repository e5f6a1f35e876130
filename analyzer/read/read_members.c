/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by a table of their members: null counts as absent, what is not in the table is skipped.
 */
#include "read_members.h"

#include <assert.h>

static bool read_member(struct reading *reading, struct json *json, const struct member *member,
			void *object)
{
	void *value = (char *)object + member->offset;
	struct json_text text;

	if (*json->at == 'n')
		return json_skip(json);
	if (!member->is_text)
		return json_take_uint(json, value);
	return json_take_string(json, &text) && reading_text(reading, &text, value);
}

bool read_members(struct reading *reading, struct json *json, const struct member *members,
		  size_t count, void *object)
{
	struct walk walk = walk_begin(json);
	size_t i;

	assert(count > 0);
	if (!json_open_object(json))
		return false;
	while (walk_member(&walk)) {
		for (i = 0; i < count && !walk_is_name(&walk, members[i].name); i++)
			continue;
		if (i == count ? !json_skip(json)
			       : !read_member(reading, json, &members[i], object))
			return false;
	}
	return !json->error;
}
