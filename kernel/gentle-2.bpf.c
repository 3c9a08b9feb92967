// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Gentle-2 (Edwan 2010, algorithms 3 and 5). Rules and differences: gentle.h.
 */
#define VERSION 2
#include "gentle.h"

GENTLE("ack_gentle_2");
