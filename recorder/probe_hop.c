/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory near a function. See probe_hop.h.
 *
 * It is writable first, then executable, never both.
 */
#include "probe_hop.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "syscalls.h"

#include "in_target.h"

enum {
	PAGE = 4096,
	HOP_BYTES = PROBE_HOP_CODE + PROBE_MOVED_BYTES,
	LOWEST = 16 * PAGE, /* below, nothing can be mapped */
	HIGH_TRIES = 124,   /* of the distance's highest byte: all of one sign, but for the ends */
	HIGH_BYTE = 8,      /* its bit among those that must be traps */
	NEXT_TRIES = 256,
	SECOND_TRIES = 16, /* pages */
	TRIES_MAX = 32768  /* each is a system call */
};

/* Bytes that are no instruction in any program of 64 bits. A distance that ends with one is
 * positive, which one that ends with int3 is not. */
static const uint8_t invalid[] = { 0x61, 0x60, 0x3f, 0x37, 0x2f, 0x27, 0x1f,
				   0x1e, 0x17, 0x16, 0x0e, 0x07, 0x06 };

/* As a program that is linked to a fixed address: a jump that ends with int3 leads 870 MB back, to
 * below zero. */
static bool is_low(const struct probe_order *order)
{
	return order->address < (uint64_t)1 << 31;
}

/* Bytes of the jump's distance that must be traps: bit i for byte i. */
static uint32_t trapping_bytes(const struct probe_order *order)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < order->mark_count; i++)
		bits |= 1U << (order->marks[i].old - 1);
	return bits;
}

uint32_t probe_hop_signals(const struct probe_order *order)
{
	uint32_t traps = trapping_bytes(order), invalid_bytes = is_low(order) ? HIGH_BYTE : 0;

	return (traps & ~invalid_bytes ? 1U << SIGTRAP : 0) |
	       (traps & invalid_bytes ? 1U << SIGILL : 0);
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

/* push %rbp; push $index; jmp *probe_through */
static void write_way(uint32_t index, uint8_t *hop)
{
	uint64_t through = (uint64_t)(uintptr_t)probe_through;
	const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

	hop[0] = 0x55;
	hop[1] = 0x68;
	memcpy(hop + 2, &index, sizeof(index));
	memcpy(hop + 6, jump, sizeof(jump));
	memcpy(hop + 12, &through, sizeof(through));
}

/* Where the stub has what it needs. */
enum { STUB_MOMENT = 8, STUB_PLACE = 16 };

/* A jump to the moved instructions, over two words. */
static void write_words(const struct probe_order *order, uint8_t *hop)
{
	uint64_t moment = (uint64_t)(uintptr_t)probe_moment;

	hop[0] = 0xeb;
	hop[1] = PROBE_HOP_CODE - 2;
	memcpy(hop + STUB_MOMENT, &moment, sizeof(moment));
	memcpy(hop + STUB_PLACE, &order->place, sizeof(order->place));
}

static void put_distance(uint8_t *code, int distance)
{
	const int32_t bytes = distance;

	memcpy(code, &bytes, sizeof(bytes));
}

/*
 * lea -128(%rsp), %rsp; push place(%rip); push %rbp; push $index; call *moment(%rip);
 * lea 152(%rsp), %rsp. So leaf functions keep their variables below the stack pointer.
 */
static void write_stub(const struct probe_order *order, uint32_t index, uint8_t *hop)
{
	static const uint8_t stub[PROBE_STUB_BYTES] = {
		0x48, 0x8d, 0x64, 0x24, 0x80, 0xff, 0x35, 0,    0, 0, 0,
		0x55, 0x68, 0,    0,    0,    0,    0xff, 0x15, 0, 0, 0,
		0,    0x48, 0x8d, 0xa4, 0x24, 152,  0,    0,    0,
	};
	int at = PROBE_HOP_CODE + order->stub_at;

	memcpy(hop + at, stub, sizeof(stub));
	put_distance(hop + at + 7, STUB_PLACE - (at + 11));
	memcpy(hop + at + 13, &index, sizeof(index));
	put_distance(hop + at + 19, STUB_MOMENT - (at + 23));
}

static bool write_hop(const struct probe_order *order, uint32_t index, uint64_t at, uint8_t *hop)
{
	if (!fix(order, at + PROBE_HOP_CODE, hop + PROBE_HOP_CODE))
		return false;
	if (order->sight == PROBE_SEES_CALLS) {
		write_way(index, hop);
	} else {
		write_words(order, hop);
		write_stub(order, index, hop);
	}
	return true;
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

/* How often a byte of the distance may be varied: not at all where it is a trap. */
static uint32_t tries_of(uint32_t traps, uint32_t byte, uint32_t tries)
{
	return traps >> byte & 1 ? 1 : tries;
}

static uint32_t high_tries(uint32_t traps, bool low)
{
	return traps & HIGH_BYTE && low ? sizeof(invalid) : tries_of(traps, 3, HIGH_TRIES);
}

static uint32_t high_byte(uint32_t traps, bool low, uint32_t number)
{
	if (traps & HIGH_BYTE)
		return low ? invalid[number] : PROBE_TRAP;
	return (low ? 0x7e : 0xfe) - number;
}

/*
 * Candidates: the highest byte of the distance from -1 downwards, so below the file: what is above
 * is the heap's way. Where the file lies lower than that, from the farthest one above downwards.
 * The second byte comes last: it makes another page where the two above are traps.
 */
static int64_t distance_of(uint32_t traps, bool low, uint32_t number)
{
	uint32_t nexts = tries_of(traps, 2, NEXT_TRIES), highs = high_tries(traps, low);
	uint32_t next = number % nexts, high = number / nexts % highs;
	uint32_t second = number / nexts / highs * (PAGE >> 8);
	uint32_t bytes = high_byte(traps, low, high) << 24 | (traps & 4 ? PROBE_TRAP : next) << 16 |
			 (traps & 2 ? PROBE_TRAP : second) << 8 | (traps & 1 ? PROBE_TRAP : 0x20);

	return (int32_t)bytes;
}

uint64_t probe_hop_make(const struct probe_order *order, uint32_t index)
{
	uint32_t traps = trapping_bytes(order);
	uint32_t tries = high_tries(traps, is_low(order)) * tries_of(traps, 2, NEXT_TRIES) *
			 tries_of(traps, 1, SECOND_TRIES);

	for (uint32_t i = 0; i < tries && i < TRIES_MAX; i++) {
		int64_t far = distance_of(traps, is_low(order), i);
		uint64_t at = order->address + PROBE_JUMP_BYTES + (uint64_t)far;
		uint64_t hop = (int64_t)at < LOWEST ? 0 : map_hop(order, index, at);

		if (hop)
			return hop;
	}
	return 0;
}
