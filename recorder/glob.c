/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell patterns. See glob.h.
 *
 * Where the rest of the pattern does not fit, the last star takes one character more. So the time
 * is at most the product of both lengths.
 */
#include "glob.h"

#include <stddef.h>

#include "in_target.h"

/* Whether `c` is in the set that begins after its [; *end is behind its ]. False with *end NULL:
 * there is no ], so it is no set. */
static bool set_has(const char *set, char c, const char **end)
{
	bool is_negated = *set == '!';
	bool has = false;
	const char *at = set + is_negated;

	for (bool is_first = true; *at && (*at != ']' || is_first); is_first = false) {
		if (at[1] == '-' && at[2] && at[2] != ']') {
			has |= at[0] <= c && c <= at[2];
			at += 3;
		} else {
			has |= *at++ == c;
		}
	}
	*end = *at ? at + 1 : NULL;
	return *end && has != is_negated;
}

/* Whether the first item of the pattern takes `c`; *next is what comes after the item. */
static bool item_takes(const char *glob, char c, const char **next)
{
	*next = glob + 1;
	if (*glob == '?')
		return true;
	if (*glob == '[') {
		const char *end;
		bool has = set_has(glob + 1, c, &end);

		if (end) {
			*next = end;
			return has;
		}
	}
	if (*glob == '\\' && glob[1]) {
		*next = glob + 2;
		return glob[1] == c;
	}
	return *glob == c;
}

bool glob_matches(const char *glob, const char *name)
{
	const char *star = NULL, *tried = NULL;

	while (*name) {
		const char *next;

		if (*glob == '*') {
			star = glob++;
			tried = name;
		} else if (*glob && item_takes(glob, *name, &next)) {
			glob = next;
			name++;
		} else if (star) {
			/* The last star takes one more. */
			glob = star + 1;
			name = ++tried;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}
