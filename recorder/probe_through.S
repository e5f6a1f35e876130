/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What probes' jumps lead to: a call of a function on its way through us, and a thread that comes
 * by a place within one.
 *
 * The entry's jump leads to memory near the function (probe_patch.c), which pushes rbp and the
 * probe's number, and jumps here. We call the function as it would have been called, so its frame
 * lies on ours, which the tables below describe: unwinders pass it, and tell probe_personality().
 * Registers are as they were, all of them: a caller within the same file may know what the function
 * leaves alone. Vector registers are not touched; what calls code that does keeps them
 * (vectors.h). The stack is 64 bytes lower, so it is aligned as it was.
 *
 * A place within a function calls us from among its moved instructions (probe_hop.c), with the 128
 * bytes below its stack pointer left alone. Its flags are kept, too. To unwinders it is a function
 * that a signal has interrupted there.
 *
 * struct probe_stack (probe_hit.h) has the layout of both.
 */
#define REGISTERS 128
#define FRAME 64
#define MOVED 8
#define OP 16
#define MOMENT_FRAME 192
#define MOMENT_ROOM 32

	/* All registers by their numbers in DWARF, and the stack pointer as `sp`. rdi: struct
	 * probe_stack. rbx keeps the stack pointer, as the stack may be aligned by less than 16. */
	.macro SAVE sp, frame=FRAME
	leaq	-REGISTERS(%rsp), %rsp
	.cfi_def_cfa_offset \frame + REGISTERS
	movq	%rax, 0(%rsp)
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	movq	%rbx, 24(%rsp)
	.cfi_offset %rbx, 24 - \frame - REGISTERS
	movq	%rsi, 32(%rsp)
	movq	%rdi, 40(%rsp)
	movq	%rbp, 48(%rsp)
	leaq	REGISTERS + \sp(%rsp), %rax
	movq	%rax, 56(%rsp)
	movq	%r8, 64(%rsp)
	movq	%r9, 72(%rsp)
	movq	%r10, 80(%rsp)
	movq	%r11, 88(%rsp)
	movq	%r12, 96(%rsp)
	movq	%r13, 104(%rsp)
	movq	%r14, 112(%rsp)
	movq	%r15, 120(%rsp)
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	andq	$-16, %rsp
	.endm

	.macro RESTORE
	movq	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	movq	0(%rsp), %rax
	movq	8(%rsp), %rdx
	movq	16(%rsp), %rcx
	movq	24(%rsp), %rbx
	.cfi_restore %rbx
	movq	32(%rsp), %rsi
	movq	40(%rsp), %rdi
	movq	64(%rsp), %r8
	movq	72(%rsp), %r9
	movq	80(%rsp), %r10
	movq	88(%rsp), %r11
	.endm

	.text
	.globl	probe_through
	.hidden	probe_through
	.globl	probe_through_returns
	.hidden	probe_through_returns
	.type	probe_through, @function
	.p2align 6
probe_through:
	.cfi_startproc
	.cfi_personality 0x1b, probe_personality
	.cfi_def_cfa %rsp, 24
	subq	$FRAME - 24, %rsp
	.cfi_def_cfa_offset FRAME
	SAVE	56
	call	probe_enter
	RESTORE
	addq	$REGISTERS, %rsp
	.cfi_def_cfa_offset FRAME
	call	*MOVED(%rsp)
probe_through_returns:
	SAVE	64
	call	probe_leave
	RESTORE
	addq	$REGISTERS + 56, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	probe_through, .-probe_through

	.globl	probe_moment
	.hidden	probe_moment
	.type	probe_moment, @function
	.p2align 6
probe_moment:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, MOMENT_FRAME - MOMENT_ROOM
	.cfi_offset %rip, 56 - MOMENT_FRAME
	leaq	-MOMENT_ROOM(%rsp), %rsp
	.cfi_def_cfa_offset MOMENT_FRAME
	movq	%rax, OP(%rsp)
	lahf
	seto	%al
	movq	%rax, MOVED(%rsp)
	movq	OP(%rsp), %rax
	SAVE	MOMENT_FRAME, MOMENT_FRAME
	call	probe_come_by
	RESTORE
	movq	REGISTERS + MOVED(%rsp), %rax
	addb	$127, %al
	sahf
	movq	0(%rsp), %rax
	leaq	REGISTERS + MOMENT_ROOM(%rsp), %rsp
	.cfi_def_cfa_offset MOMENT_FRAME - MOMENT_ROOM
	ret
	.cfi_endproc
	.size	probe_moment, .-probe_moment

	.section .note.GNU-stack, "", @progbits
