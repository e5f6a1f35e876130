/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this process. See gate.h.
 */
#include "gate.h"

#include "syscalls.h"

#include "in_target.h"

struct gate recorder_gate;
struct gate_facts gate_facts;

bool gate_is_the_users(void)
{
	return (uint32_t)sys_geteuid() == load_relaxed(&gate_facts.user);
}

/* A vfork child shares this memory with its parent, and finds the gate as it was. */
bool recorder_in_vfork_child(void)
{
	return load_relaxed(&recorder_gate.present) != 0 && (uint32_t)sys_getpid() != gate_pid();
}
