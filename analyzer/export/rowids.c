/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of Fowler, Noll and Vo with 128 bits; rowids.h has the contract. */
#include "rowids.h"

#include <inttypes.h>
#include <stdio.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t basis_high = 0x6c62272e07bb0142u, basis_low = 0x62b821756295c58du;
static const uint64_t prime_high = UINT64_C(1) << (88 - 64), prime_low = 0x13b;

struct row_id row_id_begin(void)
{
	return (struct row_id){ basis_high, basis_low };
}

static void add_byte(struct row_id *id, unsigned char byte)
{
	wide hash = (wide)id->high << 64 | (id->low ^ byte);
	hash *= (wide)prime_high << 64 | prime_low;
	id->high = (uint64_t)(hash >> 64);
	id->low = (uint64_t)hash;
}

void row_id_add_text(struct row_id *id, const char *text)
{
	for (; *text; text++)
		add_byte(id, (unsigned char)*text);
	add_byte(id, 0);
}

void row_id_add_number(struct row_id *id, uint64_t number)
{
	for (int shift = 0; shift < 64; shift += 8)
		add_byte(id, (unsigned char)(number >> shift));
}

const char *row_id_text(struct row_id id, char text[ROW_ID_BYTES])
{
	snprintf(text, ROW_ID_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
	return text;
}
