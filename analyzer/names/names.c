/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: a hash table from a symbol's spelling to its readable form.
 *
 * Parameters are left out, so that a class is "cache::get" and all its overloads are one. Suffixes
 * of compilers' clones (".constprop.0") are left out: a part split off a function is that function
 * to its author. Symbol versions ("@@GLIBC_2.2.5") and tags of the C++ library's ("[abi:cxx11]")
 * are left out, too. libiberty's demangler knows C++ and both manglings of Rust. It is code under
 * the LGPL and GPL with exceptions: never link it into the library.
 */
#include "names.h"

#include <assert.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ENTRIES_FIRST = 256 };

struct names_entry {
	const char *spelling; /* NULL = free */
	const char *readable; /* NULL = spelling has only been interned so far */
};

static const char *const clone_suffixes[] = {
	"constprop", "isra",       "part",  "cold", "lto_priv",
	"llvm",      "localalias", "clone", "warm", "hot",
};

static uint64_t hash(const char *text)
{
	uint64_t value = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 1099511628211u;
	return value;
}

static struct names_entry *find(struct names_entry *entries, size_t room, const char *spelling)
{
	size_t i = hash(spelling) & (room - 1);

	while (entries[i].spelling && strcmp(entries[i].spelling, spelling))
		i = (i + 1) & (room - 1);
	return &entries[i];
}

static void grow(struct names *names)
{
	size_t room = names->room ? 2 * names->room : ENTRIES_FIRST;
	struct names_entry *entries = memory_new(room, sizeof(*entries));

	for (size_t i = 0; i < names->room; i++)
		if (names->entries[i].spelling)
			*find(entries, room, names->entries[i].spelling) = names->entries[i];
	free(names->entries);
	names->entries = entries;
	names->room = room;
}

static struct names_entry *entry_of(struct names *names, const char *spelling)
{
	struct names_entry *entry;

	if (4 * names->count >= 3 * names->room)
		grow(names);
	entry = find(names->entries, names->room, spelling);
	if (entry->spelling)
		return entry;
	entry->spelling = blocks_text(&names->blocks, spelling, strlen(spelling));
	names->count++;
	return entry;
}

const char *names_intern(struct names *names, const char *text)
{
	return entry_of(names, text)->spelling;
}

/* Whether `text`, which begins with a dot, is what a compiler appends to the name of a clone. */
static bool is_clone_suffix(const char *text)
{
	for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++) {
		size_t length = strlen(clone_suffixes[i]);

		if (!strncmp(text + 1, clone_suffixes[i], length) &&
		    (text[1 + length] == '.' || text[1 + length] == '\0'))
			return true;
	}
	return false;
}

static size_t trimmed_length(const char *symbol)
{
	for (size_t i = 1; symbol[i - 1] && symbol[i]; i++)
		if (symbol[i] == '@' || (symbol[i] == '.' && is_clone_suffix(symbol + i)))
			return i;
	return strlen(symbol);
}

/* Takes out the tags of the C++ library's versions, which nobody writes. */
static void strip_tags(char *name)
{
	static const char opening[] = "[abi:";
	char *tag, *end;

	while ((tag = strstr(name, opening)) && (end = strchr(tag, ']')))
		memmove(tag, end + 1, strlen(end + 1) + 1);
}

static const char *readable_new(struct names *names, const char *symbol)
{
	size_t length = trimmed_length(symbol);
	char *copy = blocks_text(&names->blocks, symbol, length);
	const char *result;
	char *demangled;

	if (copy[0] != '_')
		return names_intern(names, copy);
	demangled = cplus_demangle(copy, DMGL_ANSI | DMGL_AUTO);
	if (demangled)
		strip_tags(demangled);
	result = names_intern(names, demangled && demangled[0] ? demangled : copy);
	free(demangled);
	return result;
}

const char *names_readable(struct names *names, const char *symbol)
{
	struct names_entry *entry = entry_of(names, symbol);
	const char *readable;

	if (entry->readable)
		return entry->readable;
	readable = readable_new(names, symbol);
	entry = entry_of(names, symbol); /* the table may have grown meanwhile */
	assert(entry->spelling);
	entry->readable = readable;
	return readable;
}

void names_free(struct names *names)
{
	free(names->entries);
	blocks_free(&names->blocks);
	*names = (struct names){ .blocks = { NULL } };
}
