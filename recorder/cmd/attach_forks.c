/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() of other threads waits while the library is loaded. See attach_forks.h. One thread.
 */
#include "attach_forks.h"

#include <string.h>
#include <unistd.h>

#include "attach_back.h"

enum { PAGE_BYTES = 4096 };

/* Places in the code, and behind which instructions the word's distance counts. */
enum { STORE = 0, ENTER = 3, ENTER_DISTANCE = 5, ENTER_FROM = 13, HANDLER = 15 };
enum { HANDLER_DISTANCE = 23, HANDLER_FROM = 28, CLEAR_DISTANCE = 60, CLEAR_FROM = 68 };

static const uint8_t code[] = {
	0x89, 0x37, 0xc3,                               /* mov %esi, (%rdi); ret */
	0xc7, 0x05, 0,    0,    0,    0,    1, 0, 0, 0, /* movl $1, word(%rip) */
	0xff, 0xe0,                                     /* jmp *%rax */
	0x41, 0xb8, 0xe8, 0x03, 0x00, 0x00,             /* mov $1000, %r8d */
	0x83, 0x3d, 0,    0,    0,    0,    0,          /* 1: cmpl $0, word(%rip) */
	0x74, 0x26,                                     /* je 2f */
	0x68, 0x40, 0x42, 0x0f, 0x00,                   /* push $1000000 */
	0x6a, 0x00,                                     /* push $0 */
	0x48, 0x89, 0xe7,                               /* mov %rsp, %rdi */
	0x31, 0xf6,                                     /* xor %esi, %esi */
	0xb8, 0x23, 0x00, 0x00, 0x00,                   /* mov $SYS_nanosleep, %eax */
	0x0f, 0x05,                                     /* syscall */
	0x48, 0x83, 0xc4, 0x10,                         /* add $16, %rsp */
	0x41, 0xff, 0xc8,                               /* dec %r8d */
	0x75, 0xdb,                                     /* jne 1b */
	0xc7, 0x05, 0,    0,    0,    0,    0, 0, 0, 0, /* movl $0, word(%rip) */
	0xc3,                                           /* 2: ret */
};

static void put_distance(uint8_t *bytes, size_t offset, uint64_t from, uint64_t to)
{
	int32_t distance = (int32_t)(to - from);

	memcpy(bytes + offset, &distance, sizeof(distance));
}

static uint64_t bytes_left(uint64_t at)
{
	return (PAGE_BYTES - at % PAGE_BYTES) % PAGE_BYTES;
}

void attach_forks_prepare(struct attach_forks *forks, const struct attach_symbols *libc, int memory)
{
	uint64_t at = libc->code_end + ATTACH_CODE_BYTES;
	uint64_t word = (libc->data_end + 7) & -UINT64_C(8);
	uint8_t bytes[sizeof(code)];

	*forks = (struct attach_forks){ 0 };
	memcpy(bytes, code, sizeof(code));
	put_distance(bytes, ENTER_DISTANCE, at + ENTER_FROM, word);
	put_distance(bytes, HANDLER_DISTANCE, at + HANDLER_FROM, word);
	put_distance(bytes, CLEAR_DISTANCE, at + CLEAR_FROM, word);
	if (bytes_left(libc->code_end) < ATTACH_CODE_BYTES + sizeof(code) ||
	    bytes_left(libc->data_end) < 2 * sizeof(word) ||
	    pwrite(memory, bytes, sizeof(bytes), (off_t)at) != sizeof(bytes))
		return;
	*forks = (struct attach_forks){ at + HANDLER, at + ENTER, at + STORE, word };
}
