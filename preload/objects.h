/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a loaded object, read without the loader's lock. */
#ifndef WCPROF_OBJECTS_H
#define WCPROF_OBJECTS_H

#include <link.h>

#include "hooks.h"

enum { SYMBOL_BYTES_MAX = 49, VERSION_BYTES_MAX = 16 };

enum symbol_type { SYMBOL_FUNCTION, SYMBOL_DATA, SYMBOL_OF_THREAD };

/* Made by SYMBOL_ROW(). Without addresses, which the loader would have to write. */
struct symbol_row {
	char symbol[SYMBOL_BYTES_MAX];
	char version[VERSION_BYTES_MAX]; /* empty: the default one */
	uint32_t hash;                   /* of the GNU table */
	uint16_t bytes;                  /* of the symbol, its end included */
	uint16_t type;                   /* enum symbol_type */
};

/*
 * The hash is 5381 * 33^n + c[0] * 33^(n-1) + ... + c[n-1]. The compiler works it out, as a process
 * that starts looks up some 800 symbols.
 */
#define POWER_BIT(n, bit, power) ((n) & (bit) ? (power) : 1U)
/* 33^n modulo 2^32, for n below 64. */
#define POWER_OF_33(n)                                                               \
	(POWER_BIT(n, 1, 33U) * POWER_BIT(n, 2, 1089U) * POWER_BIT(n, 4, 1185921U) * \
	 POWER_BIT(n, 8, 1954312449U) * POWER_BIT(n, 16, 2463752705U) *              \
	 POWER_BIT(n, 32, 288867329U))
#define HASH_AT(s, i)                                                              \
	((i) + 1 < sizeof(s) ? (unsigned char)(s)[(i) + 1 < sizeof(s) ? (i) : 0] * \
				       POWER_OF_33(sizeof(s) - 2 - (i))            \
			     : 0U)
#define HASH_FROM(s, i) \
	(HASH_AT(s, i) + HASH_AT(s, (i) + 1) + HASH_AT(s, (i) + 2) + HASH_AT(s, (i) + 3))
#define SYMBOL_HASH(s)                                                               \
	(5381U * POWER_OF_33(sizeof(s) - 1) + HASH_FROM(s, 0) + HASH_FROM(s, 4) +    \
	 HASH_FROM(s, 8) + HASH_FROM(s, 12) + HASH_FROM(s, 16) + HASH_FROM(s, 20) +  \
	 HASH_FROM(s, 24) + HASH_FROM(s, 28) + HASH_FROM(s, 32) + HASH_FROM(s, 36) + \
	 HASH_FROM(s, 40) + HASH_FROM(s, 44))
#define SYMBOL_ROW(symbol, version, type)                                  \
	{                                                                  \
		symbol, version, SYMBOL_HASH(symbol), sizeof(symbol), type \
	}

/* The tables of one loaded object. */
struct object {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t string_bytes;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * versions;
	const ElfW(Verdef) * definitions;
	const ElfW(Verneed) * needs;
	const char *name;            /* its soname; "" = it has none */
	const ElfW(Rela) * slots[2]; /* relocations that bind calls: of the procedure linkage table,
				      * and of all else */
	size_t slot_counts[2];
};

void object_read(struct object *, const struct link_map *) HIDDEN;
/* NULL: it does not define that. Of an indirect function it may choose NULL, too. */
const ElfW(Sym) * object_find(const struct object *, const struct symbol_row *) HIDDEN;
void *object_look_up(const struct object *, const struct symbol_row *) HIDDEN;
/* The version of a symbol that the object wants from others; "" = any. */
const char *object_version_wanted(const struct object *, size_t symbol) HIDDEN;
bool object_is_equal(const char *, const char *) HIDDEN;

#endif
