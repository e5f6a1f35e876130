/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a table, looked up one after the other: a user's word is looked up once a run.
 */
#include "choice.h"

#include <assert.h>
#include <string.h>

bool choice_find(const struct choice *choices, size_t count, const char *word, int *value)
{
	assert(choices && word && value);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, choices[i].word) != 0)
			continue;
		*value = choices[i].value;
		return true;
	}
	return false;
}
