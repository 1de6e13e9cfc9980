/* SPDX-License-Identifier: MIT */
/*
 * The PyTorch provider: what the dispatcher, autograd and record_function() do, as ops.
 *
 *	dlsym("PyInit__C") ──► torch_look() ──► at::addGlobalCallback(begin, end)
 *	                                             │ every op of every thread
 *	                                             ▼
 *	                                   name, inputs ──► op_begin() … op_end()
 *
 * libtorch_cpu.so is looked for whenever somebody asks for a symbol and libraries have come since:
 * Python does before it runs a module's code, a program that loads plugins before it calls them.
 * What is linked with it has it from the start.
 */
#pragma once

/* Attaches if PyTorch has come and nobody has yet. Not for handlers. Keeps errno. */
void torch_look(void);
