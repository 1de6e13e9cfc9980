/* SPDX-License-Identifier: MIT */
/*
 * The torch.nn.Modules that ops are called by, as numbers, and what they are called: by their class
 * at first, and by their way from the outermost one, "ResNet.layer1.0.conv1 (Conv2d)", as soon as
 * the interpreter allows to look (python_api.h): between two bytecodes of the main thread.
 *
 * A module is known by its address and its class: one that comes to lie where another of its class
 * was is taken for that one.
 */
#pragma once

#include <stdint.h>

struct agent;
struct lane;

/* The module at ADDRESS, whose class is TYPE and called CLASS_NAME: its number, told into LANE
   before it is used. 0: there is no room. */
uint32_t torch_modules_number(const struct agent *a, struct lane *lane, uintptr_t address,
                              uintptr_t type, const char *class_name);

/* Has all modules named that are running in the main thread, if it is the calling one, and those
   that they hold. */
void torch_modules_ask(struct agent *a);

/* All are to be reported again. */
void torch_modules_fork(void);
