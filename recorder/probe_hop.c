/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory near a function. See probe_hop.h.
 *
 * It is writable first, then executable, never both.
 */
#include "probe_hop.h"

#include <string.h>
#include <sys/mman.h>

#include "syscalls.h"

#include "in_target.h"

enum {
	PAGE = 4096,
	HOP_BYTES = PROBE_HOP_CODE + PROBE_MOVED_BYTES,
	LOWEST = 16 * PAGE, /* below, nothing can be mapped */
	HIGH_TRIES = 124,   /* of the distance's highest byte: all of one sign, but for the ends */
	NEXT_TRIES = 256
};

/* Bytes of the jump's distance that must be traps: bit i for byte i. */
static uint32_t trapping_bytes(const struct probe_order *order)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < order->mark_count; i++)
		bits |= 1U << (order->marks[i].old - 1);
	return bits;
}

/* Moved instructions are right at `to`: false if something is too far away. */
static bool fix(const struct probe_order *order, uint64_t to, uint8_t *moved)
{
	memcpy(moved, order->moved, order->moved_bytes);
	for (uint32_t i = 0; i < order->fixup_count; i++) {
		int32_t distance;
		int64_t fixed;

		memcpy(&distance, &moved[order->fixups[i]], sizeof(distance));
		fixed = distance + (int64_t)(order->address - to);
		distance = (int32_t)fixed;
		if (distance != fixed)
			return false;
		memcpy(&moved[order->fixups[i]], &distance, sizeof(distance));
	}
	return true;
}

/* push %rbp; push $index; jmp *probe_through; then the moved instructions. */
static bool write_hop(const struct probe_order *order, uint32_t index, uint64_t at, uint8_t *hop)
{
	uint64_t through = (uint64_t)(uintptr_t)probe_through;
	const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

	hop[0] = 0x55;
	hop[1] = 0x68;
	memcpy(hop + 2, &index, sizeof(index));
	memcpy(hop + 6, jump, sizeof(jump));
	memcpy(hop + 12, &through, sizeof(through));
	return fix(order, at + PROBE_HOP_CODE, hop + PROBE_HOP_CODE);
}

/* 0: there is no room there, or it is too far away. */
static uint64_t map_hop(const struct probe_order *order, uint32_t index, uint64_t at)
{
	uint64_t from = at & ~(uint64_t)(PAGE - 1);
	size_t bytes = at + HOP_BYTES - from > PAGE ? 2 * PAGE : PAGE;
	uint8_t *mapped = sys_mmap((void *)from, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);

	if (sys_is_error(mapped))
		return 0;
	if ((uint64_t)(uintptr_t)mapped == from &&
	    write_hop(order, index, at, mapped + (at - from)) &&
	    SYS3(mprotect, (long)mapped, (long)bytes, PROT_READ | PROT_EXEC) == 0)
		return at;
	(void)sys_munmap(mapped, bytes);
	return 0;
}

/*
 * Candidates: the highest byte of the distance from -1 downwards, so below the file: what is above
 * is the heap's way. Where the file lies lower than that, from the farthest one above downwards.
 */
static int64_t distance_of(uint32_t traps, uint32_t high, uint32_t next)
{
	uint32_t bytes = (traps & 8 ? PROBE_TRAP : high) << 24 |
			 (traps & 4 ? PROBE_TRAP : next) << 16 |
			 (traps & 2 ? PROBE_TRAP : 0x40) << 8 | (traps & 1 ? PROBE_TRAP : 0x20);

	return (int32_t)bytes;
}

uint64_t probe_hop_make(const struct probe_order *order, uint32_t index)
{
	uint32_t traps = trapping_bytes(order);
	bool is_low = order->address < (uint64_t)1 << 31;

	for (uint32_t i = 0; i < HIGH_TRIES; i++) {
		for (uint32_t next = 0; next < NEXT_TRIES; next++) {
			int64_t far = distance_of(traps, is_low ? 0x7e - i : 0xfe - i, next);
			uint64_t at = order->address + PROBE_JUMP_BYTES + (uint64_t)far, hop;

			if ((int64_t)at < LOWEST)
				continue;
			hop = map_hop(order, index, at);
			if (hop)
				return hop;
			if (traps & 4)
				break;
		}
		if (traps & 8)
			break;
	}
	return 0;
}
