/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from a symbol's spelling to its readable form; demangle.h has the contract.
 *
 * Parameters are left out, so that a class is "cache::get" and all its overloads are one. Suffixes
 * of compilers' clones (".constprop.0") are left out: a part split off a function is that function
 * to its author. Symbol versions ("@@GLIBC_2.2.5") and tags of the C++ library's ("[abi:cxx11]")
 * are left out, too. libiberty's demangler knows C++ and both manglings of Rust. It is code under
 * the LGPL and GPL with exceptions: never link it into the library.
 */
#include "demangle.h"

#include <assert.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ENTRIES_FIRST = 256 };

struct demangle_entry {
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

static struct demangle_entry *find(struct demangle_entry *entries, size_t room,
				   const char *spelling)
{
	size_t i = hash(spelling) & (room - 1);

	while (entries[i].spelling && strcmp(entries[i].spelling, spelling))
		i = (i + 1) & (room - 1);
	return &entries[i];
}

static void grow(struct demangler *demangler)
{
	size_t room = demangler->room ? 2 * demangler->room : ENTRIES_FIRST;
	struct demangle_entry *entries = memory_new(room, sizeof(*entries));

	for (size_t i = 0; i < demangler->room; i++)
		if (demangler->entries[i].spelling)
			*find(entries, room, demangler->entries[i].spelling) =
				demangler->entries[i];
	free(demangler->entries);
	demangler->entries = entries;
	demangler->room = room;
}

static struct demangle_entry *entry_of(struct demangler *demangler, const char *spelling)
{
	struct demangle_entry *entry;

	if (4 * demangler->count >= 3 * demangler->room)
		grow(demangler);
	entry = find(demangler->entries, demangler->room, spelling);
	if (entry->spelling)
		return entry;
	entry->spelling = blocks_text(&demangler->blocks, spelling, strlen(spelling));
	demangler->count++;
	return entry;
}

const char *demangle_intern(struct demangler *demangler, const char *text)
{
	return entry_of(demangler, text)->spelling;
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

static const char *readable_new(struct demangler *demangler, const char *symbol)
{
	size_t length = trimmed_length(symbol);
	char *copy = blocks_text(&demangler->blocks, symbol, length);
	const char *result;
	char *demangled;

	if (copy[0] != '_')
		return demangle_intern(demangler, copy);
	demangled = cplus_demangle(copy, DMGL_ANSI | DMGL_AUTO);
	if (demangled)
		strip_tags(demangled);
	result = demangle_intern(demangler, demangled && demangled[0] ? demangled : copy);
	free(demangled);
	return result;
}

const char *demangle_symbol(struct demangler *demangler, const char *symbol)
{
	struct demangle_entry *entry = entry_of(demangler, symbol);
	const char *readable;

	if (entry->readable)
		return entry->readable;
	readable = readable_new(demangler, symbol);
	entry = entry_of(demangler, symbol); /* the table may have grown meanwhile */
	assert(entry->spelling);
	entry->readable = readable;
	return readable;
}

void demangle_free(struct demangler *demangler)
{
	free(demangler->entries);
	blocks_free(&demangler->blocks);
	*demangler = (struct demangler){ .blocks = { NULL } };
}
