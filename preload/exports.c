/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that the program finds instead of libc's: hooks.def expanded to exported wrappers.
 *
 * While recording is off, a wrapper is one relaxed load, one branch and a tail jump to libc's
 * function. Else it is a tail jump to the hook's body, so that no frame of ours lies between the
 * body and the program. Wrappers have C names of their own and get the program's names by assembler
 * labels. So libc's prototypes (variable arguments, FORTIFY, nonnull) do not meet them.
 *
 * Threads: any, at any time, also before the constructor, in signal handlers and in vfork children.
 * In a vfork child the tail jump keeps the parent's stack intact. Never here: a local variable that
 * lives across a call, anything that makes a frame when off.
 */
#include "hooks.h"

#define EXPORT __attribute__((visibility("default")))

/* Where a compiler can be told so; gcc makes tail jumps of them all by itself, clang not of
 * those with arguments on the stack. */
#if defined(__has_attribute) && __has_attribute(musttail)
#define TAIL_CALL __attribute__((musttail)) return
#else
#define TAIL_CALL return
#endif

struct real real;

/* No table of addresses, which the loader would have to write into each process. */
const char hooks_call_names[] =
#define HOOK(type, symbol, parameters, arguments)                         #symbol "\0"
#define HOOK_OWN(type, symbol, parameters)                                #symbol "\0"
#define HOOK_AT(type, id, symbol, version, parameters, arguments)         #symbol "\0"
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) #call "\0"
#define VARIADIC_OWN(type, symbol, call, parameters)                      #call "\0"
#include "hooks.def"
#define RAW(kind, number, call, fd) #call "\0"
#include "hooks.def"
	;

/*
 * The rare part is a function of its own. A call that returns into the wrapper would make it save
 * registers on the way to libc.
 */
#define WRAPPER_THAT(passes_by_while_off, type, id, label, may_create, parameters, arguments) \
	static __attribute__((noinline, cold)) type set_up_and_##id parameters                \
	{                                                                                     \
		hooks_set_up(may_create);                                                     \
		return hook_##id arguments;                                                   \
	}                                                                                     \
	EXPORT type wcprof_export_##id parameters __asm__(label);                             \
	type wcprof_export_##id parameters                                                    \
	{                                                                                     \
		if ((passes_by_while_off) && recorder_is_off())                               \
			TAIL_CALL real.id arguments;                                          \
		if (hooks_need_set_up(may_create))                                            \
			TAIL_CALL set_up_and_##id arguments;                                  \
		TAIL_CALL hook_##id arguments;                                                \
	}                                                                                     \
	OWN_NAME(id, label)
#define WRAPPER(type, id, label, may_create, parameters, arguments) \
	WRAPPER_THAT(true, type, id, label, may_create, parameters, arguments)

#define HOOK(type, symbol, parameters, arguments) \
	WRAPPER(type, symbol, #symbol, true, parameters, arguments)
#define HOOK_LOCK(type, symbol, parameters, arguments) \
	WRAPPER(type, symbol, #symbol, false, parameters, arguments)
#define HOOK_PASSIVE(type, symbol, parameters, arguments)                           \
	static __attribute__((noinline, cold)) type resolve_and_##symbol parameters \
	{                                                                           \
		hooks_resolve_once();                                               \
		return real.symbol arguments;                                       \
	}                                                                           \
	EXPORT type wcprof_export_##symbol parameters __asm__(#symbol);             \
	type wcprof_export_##symbol parameters                                      \
	{                                                                           \
		if (recorder_is_off())                                              \
			TAIL_CALL real.symbol arguments;                            \
		if (hooks_need_set_up(false))                                       \
			TAIL_CALL resolve_and_##symbol arguments;                   \
		TAIL_CALL hook_##symbol arguments;                                  \
	}                                                                           \
	OWN_NAME(symbol, #symbol)
#define HOOK_ALWAYS(type, symbol, parameters, arguments)                \
	EXPORT type wcprof_export_##symbol parameters __asm__(#symbol); \
	type wcprof_export_##symbol parameters                          \
	{                                                               \
		hooks_resolve_once();                                   \
		return hook_##symbol arguments;                         \
	}                                                               \
	OWN_NAME(symbol, #symbol)
#define TASK_WRAPPER(type, id, label, parameters, arguments) \
	WRAPPER_THAT(false, type, id, label, false, parameters, arguments)
#define HOOK_TASK(type, symbol, parameters, arguments) \
	TASK_WRAPPER(type, symbol, #symbol, parameters, arguments)
/* The assembler makes the versioned name; the label is kept out of the table by the version
 * script. */
#define HOOK_AT(type, id, symbol, version, parameters, arguments)             \
	WRAPPER(type, id, "wcprof_export_" #id, false, parameters, arguments) \
	__asm__(".symver wcprof_export_" #id ", " #symbol version);
#define HOOK_TASK_AT(type, id, symbol, version, parameters, arguments)      \
	TASK_WRAPPER(type, id, "wcprof_export_" #id, parameters, arguments) \
	__asm__(".symver wcprof_export_" #id ", " #symbol version);
#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value) \
	WRAPPER(type, symbol, #symbol, true, parameters, arguments)
#define TIMED_BRIEF(kind, type, symbol, call, parameters, arguments, fd, value) \
	WRAPPER(type, symbol, #symbol, false, parameters, arguments)
#define HOOK_ALIAS(symbol, other) \
	__asm__(".globl " #symbol "; .type " #symbol ", @function; .set " #symbol ", " #other);
#define VARIADIC_ALIAS(symbol, other)
#include "hooks.def"
