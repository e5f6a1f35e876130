/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(): futex calls, those that change descriptors and the RAW rows of hooks.def go to their
 * hooks while recording is on, the rows of rights.def and those about signals always,
 * everything else to libc by a tail jump.
 *
 * In assembler because nothing here may touch the caller's stack: libc reads a sixth argument there
 * whether the caller has passed one or not, so the place may be a variable of the caller's, and a
 * compiler takes it for its own to write. And because clone, vfork and rt_sigreturn return twice,
 * or elsewhere: no frame of ours may lie beneath them.
 */
#define GATE_ON 2
#define SYS_rt_sigaction 13
#define SYS_rt_sigprocmask 14
#define SYS_sigaltstack 131
#define SAMPLE_SIGNAL 16
#define SYS_dup2 33
#define SYS_dup3 292
#define SYS_close_range 436
#define RAW_NUMBERS 512

	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	cmpq	$RAW_NUMBERS, %rdi
	jae	1f
	leaq	hooks_rights(%rip), %rax
	cmpb	$0, (%rax, %rdi)
	jne	3f
4:	cmpl	$GATE_ON, recorder_gate(%rip)
	jne	1f
	cmpq	$SYS_dup2, %rdi
	je	hook_raw_descriptors
	cmpq	$SYS_dup3, %rdi
	je	hook_raw_descriptors
	cmpq	$SYS_close_range, %rdi
	je	hook_raw_descriptors
	leaq	hooks_raw(%rip), %rax
	movq	(%rax, %rdi, 8), %rax
	testq	%rax, %rax
	jz	1f
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %rcx
	movq	%r9, %r8
	movq	8(%rsp), %r9
	jmp	*%rax
1:	movq	hooks_real_syscall(%rip), %rax
	testq	%rax, %rax
	jz	2f
	jmp	*%rax

	/* Whether recording is on or off; not before the constructor. */
3:	cmpq	$0, hooks_real_syscall(%rip)
	je	2f
	cmpq	$SYS_rt_sigprocmask, %rdi
	je	hook_raw_sigprocmask
	cmpq	$SYS_sigaltstack, %rdi
	je	hook_raw_sigaltstack
	cmpq	$SYS_rt_sigaction, %rdi
	jne	hook_raw_rights
	cmpl	$SAMPLE_SIGNAL, %esi
	je	hook_raw_sigaction
	jmp	4b

	/* A call from before the constructor. */
2:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hooks_resolve_once
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	1b
	.cfi_endproc
	.size	syscall, . - syscall

	/* For wrappers.S. */
	.globl	wcprof_own_syscall
	.hidden	wcprof_own_syscall
	.set	wcprof_own_syscall, syscall
	.section .note.GNU-stack, "", @progbits
