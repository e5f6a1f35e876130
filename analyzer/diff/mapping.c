/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses s/old/new/ and applies it; mapping.h has the contract.
 */
#include "mapping.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { GROUPS = 10 };

/* A text in the making. */
struct made {
	char *text;
	size_t length, room;
};

static void made_add(struct made *made, const char *bytes, size_t count)
{
	made->text = memory_grow(made->text, &made->room, made->length + count + 1, 1);
	memcpy(made->text + made->length, bytes, count);
	made->length += count;
	made->text[made->length] = '\0';
}

/* The part of a rule up to its next delimiter, which may stand in it after a backslash. */
static char *cut_part(const char **at, char delimiter)
{
	struct made part = { 0 };
	made_add(&part, "", 0);
	for (; **at && **at != delimiter; ++*at) {
		*at += (*at)[0] == '\\' && (*at)[1] == delimiter;
		if ((*at)[0] == '\\' && (*at)[1])
			made_add(&part, (*at)++, 1);
		made_add(&part, *at, 1);
	}
	return part.text;
}

static int refuse(const char *rule, const char *why, char error[OPTIONS_ERROR_BYTES])
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--map: \"%.60s\" is no rule (%.80s); give s/old/new/",
		 rule, why);
	return -EINVAL;
}

static int rule_parse(struct mapping_rule *rule, const char *text, char error[OPTIONS_ERROR_BYTES])
{
	const char *at = text + 2;
	char reason[100];
	if (text[0] != 's' || !text[1] || text[1] == '\\')
		return refuse(text, "it does not begin with s/", error);
	char *pattern = cut_part(&at, text[1]);
	bool is_whole = *at != '\0';
	at += is_whole;
	rule->replacement = cut_part(&at, text[1]);
	is_whole = is_whole && *at != '\0';
	rule->takes_all = is_whole && strcmp(at + 1, "g") == 0;
	is_whole = is_whole && (!at[1] || rule->takes_all);
	int failed = regcomp(&rule->regex, pattern, REG_EXTENDED);
	if (failed)
		regerror(failed, &rule->regex, reason, sizeof(reason));
	bool is_empty = !pattern[0];
	free(pattern);
	if (!failed && is_whole && !is_empty)
		return 0;
	if (!failed)
		regfree(&rule->regex);
	free(rule->replacement);
	return refuse(text,
		      !is_whole  ? "it does not end with /, or /g"
		      : is_empty ? "what to replace is empty"
				 : reason,
		      error);
}

int mapping_parse(struct mapping *mapping, const struct text_list *rules,
		  char error[OPTIONS_ERROR_BYTES])
{
	*mapping = (struct mapping){ 0 };
	for (size_t i = 0; i < rules->count; i++) {
		if (rule_parse(&mapping->rules[i], rules->texts[i], error) != 0) {
			mapping_free(mapping);
			return -EINVAL;
		}
		mapping->count++;
	}
	return 0;
}

void mapping_free(struct mapping *mapping)
{
	while (mapping->count > 0) {
		struct mapping_rule *rule = &mapping->rules[--mapping->count];
		regfree(&rule->regex);
		free(rule->replacement);
	}
}

static void add_replacement(struct made *made, const char *replacement, const char *name,
			    const regmatch_t groups[GROUPS])
{
	for (const char *at = replacement; *at; at++) {
		int group = *at == '&' ? 0 : -1;
		if (at[0] == '\\' && at[1]) {
			at++;
			group = *at >= '1' && *at <= '9' ? *at - '0' : -1;
		}
		if (group < 0)
			made_add(made, at, 1);
		else if (groups[group].rm_so >= 0)
			made_add(made, name + groups[group].rm_so,
				 (size_t)(groups[group].rm_eo - groups[group].rm_so));
	}
}

static char *rule_apply(const struct mapping_rule *rule, const char *name)
{
	struct made made = { 0 };
	regmatch_t groups[GROUPS];
	int flags = 0;
	made_add(&made, "", 0);
	while (*name && regexec(&rule->regex, name, GROUPS, groups, flags) == 0) {
		size_t end = (size_t)groups[0].rm_eo;
		made_add(&made, name, (size_t)groups[0].rm_so);
		add_replacement(&made, rule->replacement, name, groups);
		if (end == (size_t)groups[0].rm_so && name[end]) /* a match of nothing */
			made_add(&made, name + end++, 1);
		name += end;
		flags = REG_NOTBOL;
		if (!rule->takes_all)
			break;
	}
	made_add(&made, name, strlen(name));
	return made.text;
}

char *mapping_apply(const struct mapping *mapping, const char *name)
{
	struct made made = { 0 };
	made_add(&made, name, strlen(name));
	for (size_t i = 0; i < mapping->count; i++) {
		char *next = rule_apply(&mapping->rules[i], made.text);
		free(made.text);
		made.text = next;
	}
	return made.text;
}
