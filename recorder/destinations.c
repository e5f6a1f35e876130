/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of addresses. See destinations.h.
 *
 * The table has a word for each of so many hashes: the upper half of an address's hash, and the id
 * of its string. A new address takes the place of an older one. Two addresses are taken for each
 * other if 42 bits of their hashes agree.
 */
#include "destinations.h"

#include "descriptors.h"
#include "endpoint.h"
#include "spare.h"

#include "in_target.h"

enum { DESTINATIONS = 1024, DESTINATION_BYTES = 160 };

_Static_assert(STRINGS_MAX <= UINT32_MAX, "a string id is half of a word");

/* Relaxed: each word says something for itself. Written by any thread. */
static uint64_t destinations[DESTINATIONS];

/* Room in which an address is named: more than the program's stack may have. */
struct naming {
	struct endpoint end;
	struct text text;
	char bytes[DESTINATION_BYTES];
};

void destinations_forget(void)
{
	for (size_t i = 0; i < DESTINATIONS; i++)
		store_relaxed(&destinations[i], 0);
}

static uint64_t hash_add(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ from[i]) * 0x100000001b3u;
	return hash;
}

/* Of what tells addresses apart; a sockaddr_in has padding, of any contents. The program's address
 * may lie anywhere. */
static uint64_t hash_of(const void *address, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u;
	const char *from = address;
	sa_family_t family;

	memcpy(&family, address, sizeof(family));
	if (family == AF_INET && bytes >= sizeof(struct sockaddr_in)) {
		hash = hash_add(hash, from, offsetof(struct sockaddr_in, sin_zero));
	} else if (family == AF_INET6 && bytes >= sizeof(struct sockaddr_in6)) {
		hash = hash_add(hash, from, offsetof(struct sockaddr_in6, sin6_flowinfo));
		hash = hash_add(hash, from + offsetof(struct sockaddr_in6, sin6_addr),
				sizeof(struct in6_addr));
	} else {
		hash = hash_add(hash, from, bytes);
	}
	return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
}

static uint32_t name_make(const void *address, size_t bytes)
{
	struct naming *naming = descriptors_are_crowded() ? NULL : spare_borrow();
	uint32_t id = 0;

	if (!naming)
		return 0;
	naming->text = (struct text){ .bytes = naming->bytes, .size = sizeof(naming->bytes) };
	endpoint_set(&naming->end, address, bytes);
	if (endpoint_is_inet(&naming->end))
		endpoint_put_inet(&naming->text, &naming->end);
	else if (endpoint_path_bytes(&naming->end) > 0)
		endpoint_put_path(&naming->text, &naming->end);
	if (naming->text.used > 0)
		id = string_intern(naming->bytes, naming->text.used);
	spare_return(naming);
	return id;
}

uint32_t destinations_name(const void *address, size_t bytes)
{
	if (bytes < sizeof(sa_family_t) || bytes > sizeof(struct sockaddr_storage))
		return 0;
	uint64_t hash = hash_of(address, bytes);
	uint64_t *place = &destinations[hash % DESTINATIONS];
	uint64_t word = load_relaxed(place);

	if (LIKELY(word != 0 && word >> 32 == hash >> 32))
		return (uint32_t)word;
	uint32_t id = name_make(address, bytes);
	if (id != 0)
		store_relaxed(place, hash >> 32 << 32 | id);
	return id;
}
